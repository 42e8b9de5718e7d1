// Session::tune: its choice by a clock that the test sets, and that the choice is its only lasting effect.
#include "executor/session/tuner.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/system/clock.hpp"
#include "executor/observe/flight_file.hpp"
#include "executor/session/session.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/data/data.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/errors_of.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

/// A clock on which the given milliseconds pass between the first and the second reading, the third and the fourth, …
class WoundClock final : public Clock {
 public:
  explicit WoundClock(std::vector<int> milliseconds) : milliseconds_(std::move(milliseconds)) {}
  TimePoint now() override {
    if (++readings_ % 2 == 0) now_ += std::chrono::milliseconds(milliseconds_.at(readings_ / 2 - 1));
    return now_;
  }
  [[nodiscard]] std::size_t measured() const { return readings_ / 2; }

 private:
  std::vector<int> milliseconds_;
  std::size_t readings_ = 0;
  TimePoint now_{};
};

/// Training that draws random numbers, takes batches in a random order and prints.
struct Training {
  Graph graph;
  RunRequest request;
  int told = 0;  ///< calls of on_step

  Training() {
    Tensor rows(DType::float32, {20, 64});  // the third batch of an epoch has 4
    for (std::size_t i = 0; i < rows.mutable_data<float>().size(); ++i)
      rows.mutable_data<float>()[i] = static_cast<float>(i % 7) * 0.1F;
    auto all = graph.on(graph.mesh("dp"));
    Value y = batch({graph.constant(rows)}, 8)[0].laid({split(0)});
    std::vector<Value> weights;
    for (const std::int64_t width : {32, 64, 32, 64, 32}) {
      weights.push_back(
          graph.variable("w" + std::to_string(weights.size()), uniform(graph, {96 - width, width}, -0.1, 0.1)));
      y = tanh(matmul(y, weights.back()));
    }
    const Value loss = sum(y * y) + sum(uniform(graph, {8}, 0, 1));
    request.fetches = {print(loss, "loss")};
    request.targets = sgd(gradients_of(loss, weights), 0.01);
    request.steps = 2;
    request.on_step = [this](std::int64_t, std::span<const Tensor>) { ++told; };
  }
};

SessionOptions with_buckets(std::optional<std::int64_t> bytes) {
  SessionOptions options;
  options.plan.bucket_bytes = bytes;
  return options;
}

Cluster two_tasks() {
  return Cluster::connect(ClusterOptions{.tasks = 2, .threads = 1, .jobs = ""});
}

std::int64_t messages(const RunStats& stats) {
  std::int64_t sent = 0;
  for (const TaskStats& task : stats.tasks) sent += task.measured.sent_messages;
  return sent;
}

TEST_CASE("tune measures each plan once and takes the fastest for all later runs") {
  for (const std::size_t fastest : {0U, 1U, 2U}) {
    CAPTURE(fastest);
    Training training;
    Session session(training.graph, two_tasks());
    std::vector<int> times{50, 50, 50};
    times[fastest] = 40;
    WoundClock clock(times);
    const Tuned tuned = session.tune(training.request, {.steps = 2, .rounds = 1, .clock = &clock});
    CHECK(clock.measured() == 3);
    REQUIRE(tuned.sizes.size() == 3);  // each weight has 8 KiB: with buckets sized by the links, all share one
    CHECK(tuned.sizes[0].bucket_bytes == std::nullopt);
    CHECK(tuned.sizes[1].bucket_bytes == 0);
    CHECK(tuned.sizes[2].bucket_bytes == 1 << 14);
    CHECK(tuned.chosen == fastest);
    CHECK(tuned.sizes[fastest].seconds == doctest::Approx(0.02));
    CHECK(session.plan(training.request).plan.bucket_bytes == tuned.sizes[fastest].bucket_bytes);
    static_cast<void>(session.run(training.request));
    Session same(training.graph, two_tasks(), with_buckets(tuned.sizes[fastest].bucket_bytes));
    static_cast<void>(same.run(training.request));
    CHECK(messages(session.stats()) == messages(same.stats()));
    CHECK(session.stats().fingerprint == same.stats().fingerprint);
  }
}

TEST_CASE("tune: of several rounds the least counts, and a gain below 2 % does not") {
  Training training;
  Session session(training.graph, two_tasks());
  WoundClock clock({500, 600, 700, 800, 100, 900});
  const Tuned tuned = session.tune(training.request, {.steps = 1, .rounds = 2, .clock = &clock});
  CHECK(tuned.chosen == 1);
  CHECK(tuned.sizes[0].seconds == doctest::Approx(0.5));
  CHECK(tuned.sizes[2].seconds == doctest::Approx(0.7));

  CHECK(best_size(std::vector<Tuned::Size>{{std::nullopt, 1}, {0, 0.99}}) == 0);
  CHECK(best_size(std::vector<Tuned::Size>{{std::nullopt, 1}, {0, 0.97}, {4, 0.96}}) == 2);
  CHECK(best_size(std::vector<Tuned::Size>{{std::nullopt, 0}}) == 0);
}

TEST_CASE("tune takes as many steps as take 20 ms, at least one and at most 1000") {
  for (const auto& [first, seconds] : {std::pair(2, 0.1), std::pair(50, 1.0), std::pair(0, 0.001)}) {
    Training training;
    Session session(training.graph, two_tasks());
    WoundClock clock({first, 1000, 1000, 1000});
    const Tuned tuned = session.tune(training.request, {.rounds = 1, .clock = &clock});
    CHECK(tuned.sizes[0].seconds == doctest::Approx(seconds));
  }
}

/// The results of two runs of a session.
struct Outcome {
  std::string printed, trace;
  std::vector<Tensor> fetched;
  TensorMap variables;
};

/// `tunes`: whether tune() is called before each run.
Outcome outcome(bool tunes) {
  const test::TempFolder folder;
  Outcome outcome;
  outcome.printed = test::errors_of([&] {
    Training training;
    SessionOptions options;
    options.run.trace_file = folder / "trace.json";
    Session session(training.graph, two_tasks(), options);
    const auto tune = [&] {
      WoundClock clock({10, 10, 10});
      if (tunes) static_cast<void>(session.tune(training.request, {.steps = 5, .rounds = 1, .clock = &clock}));
    };
    tune();
    outcome.fetched = session.run(training.request);
    const RunStats before = session.stats();
    CHECK(training.told == 2);
    tune();
    CHECK(session.stats().steps == before.steps);
    CHECK(session.stats().median_seconds == before.median_seconds);
    outcome.fetched.push_back(session.run(training.request)[0]);
    CHECK(training.told == 4);
    outcome.variables = session.variables();
  });
  std::ifstream file(folder / "trace.json");
  for (std::string line; std::getline(file, line);) outcome.trace += line.substr(0, line.find("\"ts\"")) + "\n";
  return outcome;
}

TEST_CASE("tune leaves nothing behind: variables, steps, batches, prints, stats and traces are as without") {
  const Outcome without = outcome(false), with = outcome(true);
  CHECK(with.printed == without.printed);
  CHECK(with.trace == without.trace);
  REQUIRE(with.fetched.size() == without.fetched.size());
  for (std::size_t i = 0; i < with.fetched.size(); ++i) CHECK(with.fetched[i].same_bits(without.fetched[i]));
  for (const auto& variable : without.variables)
    CHECK_MESSAGE(variable.second.same_bits(with.variables.at(variable.first)), variable.first);
}

TEST_CASE("tune measures nothing where no sums can share a message") {
  Training training;
  Session session(training.graph, Cluster::connect(ClusterOptions{.tasks = 1, .threads = 1, .jobs = ""}));
  WoundClock clock({});
  const Tuned tuned = session.tune(training.request, {.clock = &clock});
  CHECK(tuned.sizes.size() == 1);
  CHECK(tuned.chosen == 0);
  CHECK(clock.measured() == 0);
}

TEST_CASE("tune leaves out the sizes whose plans go over the budget, and fails only if all do") {
  const std::int64_t few = [] {
    Training training;
    Session session(training.graph, two_tasks());
    static_cast<void>(session.run(training.request));
    return messages(session.stats());
  }();
  for (const std::optional<std::int64_t> own : {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    Training training;
    training.graph.budget({.messages = few});
    Session session(training.graph, two_tasks(), with_buckets(own));
    WoundClock clock({});
    const Tuned tuned = session.tune(training.request, {.clock = &clock});
    REQUIRE(tuned.sizes.size() == 1);
    CHECK(tuned.refused > 0);
    CHECK(session.run(training.request)[0].defined());
  }
  Training training;
  training.graph.budget({.messages = few - 1});
  Session session(training.graph, two_tasks());
  CHECK_THROWS_WITH_AS(static_cast<void>(session.tune(training.request)), doctest::Contains("its budget is"), Error);
}

TEST_CASE("tune refuses what cannot be measured, and the session stays usable") {
  Training training;
  Session session(training.graph, two_tasks());
  CHECK_THROWS_WITH_AS(static_cast<void>(session.tune(training.request, {.steps = -1})),
                       doctest::Contains("TuneOptions::steps: -1 is not from 0 to 9223372036854775807"), Error);
  CHECK_THROWS_AS(static_cast<void>(session.tune(training.request, {.rounds = 0})), Error);
  RunRequest unfed = training.request;
  unfed.feeds["nothing"] = Tensor(DType::float32, {1});
  CHECK_THROWS_AS(static_cast<void>(session.tune(unfed)), Error);
  CHECK(session.run(training.request)[0].defined());
}

TEST_CASE("what is only measured is not recorded") {
  const test::TempFolder folder;
  Training training;
  Session session(training.graph, two_tasks(), {.run = {.flight_recorder = folder / "last.json"}});
  static_cast<void>(session.tune(training.request, {.steps = 5, .rounds = 1}));
  training.request.on_step = [](std::int64_t, std::span<const Tensor>) { throw std::runtime_error("enough"); };
  CHECK_THROWS(static_cast<void>(session.run(training.request)));
  for (const FlightFile::Task& task : read_flight_file(local_files(), folder / "last.json").tasks) {
    const auto steps = std::ranges::count_if(
        task.events, [](const FlightFile::Event& event) { return event.what.starts_with("step "); });
    CHECK(steps >= 1);
    CHECK(steps <= 3);  // the variables' initial values, and one or two of training
  }
}

}  // namespace
}  // namespace ferry
