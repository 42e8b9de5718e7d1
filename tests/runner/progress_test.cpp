#include "runner/run/progress.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/manual_clock.hpp"

namespace ferry {
namespace {

using std::chrono::milliseconds;

int wide() {
  return 120;
}

TEST_CASE("the bar shows metrics, samples a second and the time left") {
  test::ManualClock clock;
  std::string shown;
  ProgressBar bar({.steps = 100, .samples = Batches{.rows = 50, .size = 50}}, wide, clock,
                  [&](std::string_view text) { shown = text; });
  clock.advance(milliseconds(9000));
  bar.update(1, {{"loss", 0.9}});
  CHECK(shown == "\r\x1b[K1/100 [--------------------] loss 0.9 ");  // the first step includes planning
  clock.advance(milliseconds(2000));
  bar.update(26, {{"loss", 0.5}});
  CHECK(shown == "\r\x1b[K26/100 [#####---------------] loss 0.5  625 samples/s  6 s left");
  clock.advance(milliseconds(50));
  bar.update(27, {});
  CHECK(shown.find("26/100") != std::string::npos);  // too soon to draw again
  bar.update(100, {});
  CHECK(shown.find("100/100 [####################]") != std::string::npos);
  CHECK(shown.find("left") == std::string::npos);
  bar.clear();
  CHECK(shown == "\r\x1b[K");
}

TEST_CASE("of a run that goes on, the rate is that of its own steps") {
  test::ManualClock clock;
  std::string shown;
  ProgressBar bar({.steps = 100, .before = 40}, wide, clock, [&](std::string_view text) { shown = text; });
  clock.advance(milliseconds(7000));
  bar.update(41, {});
  CHECK(shown == "\r\x1b[K41/100 [########------------]");
  clock.advance(milliseconds(2000));
  bar.update(61, {});
  CHECK(shown == "\r\x1b[K61/100 [############--------] 10.0 steps/s  4 s left");
}

TEST_CASE("a step of several seconds is told in seconds") {
  test::ManualClock clock;
  TimedLines lines({.steps = 100000}, clock);
  clock.advance(milliseconds(90000));
  CHECK(lines.update(1, {{"loss", 2}}) == "step 1/100000: loss = 2\n");
  clock.advance(milliseconds(31000));
  CHECK(lines.update(2, {}) == "step 2/100000: 31.0 s/step, 35 d 21 h left\n");
}

TEST_CASE("where no terminal is, a line comes every few seconds") {
  test::ManualClock clock;
  TimedLines lines({.steps = 101, .samples = Batches{.rows = 10, .size = 10}}, clock);
  clock.advance(milliseconds(4900));
  CHECK(lines.update(1, {}) == "");
  clock.advance(milliseconds(4900));
  CHECK(lines.update(50, {}) == "");
  clock.advance(milliseconds(100));
  CHECK(lines.update(51, {{"loss", 0.5}}) == "step 51/101: loss = 0.5, 100 samples/s, 5 s left\n");
  clock.advance(milliseconds(100));
  CHECK(lines.update(52, {}) == "");
  clock.advance(milliseconds(9000));
  lines.resume();
  CHECK(lines.update(53, {}) == "");
  clock.advance(milliseconds(5000));
  CHECK(lines.update(101, {}) == "");  // the results of the last step are printed anyway
  CHECK(lines.update(100, {}) == "step 100/101: 98.0 samples/s, 0 s left\n");
}

TEST_CASE("the bar keeps to the terminal's width, also if the terminal is resized") {
  test::ManualClock clock;
  std::string shown;
  int columns = 12;
  ProgressBar bar(
      {.steps = 10}, [&] { return columns; }, clock, [&](std::string_view text) { shown = text; });
  bar.update(1, {{"a_long_name", 1}});
  CHECK(shown.size() == 11 + 4);
  columns = 24;
  clock.advance(milliseconds(100));
  bar.update(1, {{"loss", 0.5}});
  CHECK(shown.starts_with("\r\x1b[K1/10 loss 0.5"));  // without the bar
  CHECK(shown.size() <= 23 + 4);
  columns = 60;
  clock.advance(milliseconds(100));
  bar.update(1, {{"loss", 0.5}});
  CHECK(shown.find("1/10 [##------------------] loss 0.5") != std::string::npos);
}

TEST_CASE("the bar has the epoch, if an epoch has several steps") {
  test::ManualClock clock;
  std::string shown;
  ProgressBar bar({.steps = 8, .samples = Batches{.rows = 40, .size = 10}}, wide, clock,
                  [&](std::string_view text) { shown = text; });
  bar.update(4, {});
  CHECK(shown == "\r\x1b[K4/8 [##########----------] epoch 1/2 ");
  clock.advance(milliseconds(1000));
  bar.update(5, {{"loss", 1}});
  CHECK(shown == "\r\x1b[K5/8 [#############-------] epoch 2/2  loss 1  50.0 samples/s  1 s left");
}

TEST_CASE("the first scalar that is not finite is told of, once") {
  const auto scalar = [](float value) {
    Tensor tensor(DType::float32, {});
    tensor.mutable_data<float>()[0] = value;
    return tensor;
  };
  const Tensor none, two(DType::float32, {2});
  FiniteWatch watch({"none", "row", "loss"});
  CHECK(watch.update(1, std::vector{none, two, scalar(1)}) == "");
  CHECK(watch.update(2, std::vector{none, two, scalar(-INFINITY)}) ==
        "step 2: loss is -inf; run the graph with --check-numerics to learn which op made it");
  CHECK(watch.update(3, std::vector{none, two, scalar(NAN)}) == "");
  FiniteWatch other({"loss"});
  CHECK(other.update(7, std::vector{scalar(NAN)}).starts_with("step 7: loss is nan;"));
}

TEST_CASE("a line says what the steps since the one before were like") {
  test::ManualClock clock;
  StepLines lines({.steps = 5, .samples = Batches{.rows = 100, .size = 100}}, 2, clock);
  clock.advance(milliseconds(3000));
  CHECK(lines.update(1, {{"loss", 4}, {"accuracy", 0.5}}) == "");
  clock.advance(milliseconds(500));
  CHECK(lines.update(2, {{"loss", 2}, {"accuracy", 1}}) == "step 2/5: loss = 3 accuracy = 0.75, 200 samples/s\n");
  clock.advance(milliseconds(7000));
  lines.resume();
  clock.advance(milliseconds(100));
  CHECK(lines.update(3, {{"loss", 1}}) == "");
  CHECK(lines.update(4, {{"loss", 1}}) == "step 4/5: loss = 1, 2,000 samples/s\n");
  clock.advance(milliseconds(1000));
  CHECK(lines.update(5, {{"loss", 7}}) == "step 5/5: loss = 7, 100 samples/s\n");  // the last step always has a line
}

TEST_CASE("the speed in a line leaves out the first step of the run, which includes planning and setup") {
  test::ManualClock clock;
  StepLines lines({.steps = 12, .before = 10}, 1, clock);
  clock.advance(milliseconds(60000));
  CHECK(lines.update(11, {{"loss", 4}}) == "step 11/12: loss = 4\n");
  clock.advance(milliseconds(500));
  CHECK(lines.update(12, {{"loss", 2}}) == "step 12/12: loss = 2, 2.0 steps/s\n");
}

TEST_CASE("numbers are readable") {
  CHECK(readable(3.14) == "3.1");
  CHECK(readable(41230) == "41,230");
  CHECK(readable(1234567) == "1,234,567");
  CHECK(readable(100) == "100");
  CHECK(readable_seconds(3.2) == "3 s");
  CHECK(readable_seconds(200) == "3 min 20 s");
  CHECK(readable_seconds(7300) == "2 h 1 min");
  CHECK(readable_seconds(200000) == "2 d 7 h");
}

TEST_CASE("the means of the last epoch are weighed by rows, and say which steps they are of") {
  const Batches batches{.rows = 10, .size = 4, .keep = true};  // steps of 4, 4 and 2 rows
  const auto run = [&](std::int64_t before, std::int64_t steps) {
    EpochMeans means({.steps = steps, .before = before, .samples = batches});
    for (std::int64_t done = before + 1; done <= steps; ++done)
      means.update(done, {{"loss", static_cast<double>(done)}});
    const Metrics taken = means.take();
    return (taken.empty() ? "none" : std::to_string(taken[0].second)) + ", " + means.label();
  };
  CHECK(run(0, 6) == "4.800000, mean of epoch 2");
  CHECK(run(0, 5) == "4.500000, mean of steps 4 to 5");
  CHECK(run(0, 4) == "4.000000, step 4");
  CHECK(run(4, 6) == "5.333333, mean of steps 5 to 6");
  CHECK(run(0, 3) == "1.800000, mean of epoch 1");
  CHECK(run(6, 6).starts_with("none"));
  EpochMeans without({.steps = 2});
  without.update(1, {{"loss", 1}});
  CHECK(without.take().empty());
}

}  // namespace
}  // namespace ferry
