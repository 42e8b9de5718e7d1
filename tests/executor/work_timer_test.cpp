#include "executor/observe/work_timer.hpp"

#include <doctest/doctest.h>

#include "graph/graph.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using namespace std::chrono_literals;

/// A plan of two tasks that compute the same on halves of 6 rows, or on 4 and 3 of 7.
Plan halves(std::int64_t rows) {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {rows, 2}))).laid({split(0)});
  return test::planned(g, {sum(tanh(x))}, 2);
}

const Instruction& tanh_of(const Plan& plan, int task) {
  for (const Instruction& instruction : plan.class_for(task).instructions)
    if (plan.string(instruction.op) == "Tanh") return instruction;
  FAIL("there is no Tanh");
  return plan.class_for(task).instructions[0];
}

/// Steps of 120 ms, in each of which Tanh has just run; returns how many were timed.
int run(WorkTimer& timer, const Plan& plan, int steps, TimePoint& now) {
  int timed = 0;
  for (int i = 0; i < steps; ++i, now += 121ms) {
    timer.begin_step(now);
    if (!timer.timed()) continue;
    ++timed;
    timer.add(0, tanh_of(plan, 0), WorkTimer::Reading::now());
    static_cast<void>(timer.end_step(now, now + 120ms));
  }
  return timed;
}

TEST_CASE("what a task tells of its steps") {
  const Plan plan = halves(6);
  WorkTimer timer(plan, 0, 77, true);
  CHECK(timer.times().samples == 0);
  TimePoint now{};
  CHECK(run(timer, plan, 12, now) == 10);  // the first two do not count
  const WorkTimes times = timer.times();
  CHECK(times.plan == 77);
  CHECK(times.crowded);
  CHECK(times.samples == 10);
  CHECK(times.step == doctest::Approx(0.12));
  CHECK(times.waiting == 0);
  REQUIRE(times.busiest.size() == 1);
  CHECK(times.busiest[0].op.starts_with("Tanh at "));
  CHECK(times.busiest[0].runs == 1);
}

TEST_CASE("what was measured comes through a message whole") {
  const Plan plan = halves(6);
  WorkTimer timer(plan, 0, 77, true);
  TimePoint now{};
  run(timer, plan, 12, now);
  const WorkTimes times = timer.times();
  BlobWriter writer;
  add(times, writer);
  const std::string bytes = writer.take();
  BlobReader reader(bytes);
  const WorkTimes read = read_work_times(reader);
  CHECK(reader.empty());
  CHECK(read.plan == times.plan);
  CHECK(read.samples == times.samples);
  CHECK(read.crowded);
  CHECK(read.step == times.step);
  REQUIRE(read.busiest.size() == 1);
  CHECK(read.busiest[0].key == times.busiest[0].key);
  CHECK(read.busiest[0].op == times.busiest[0].op);
  CHECK(read.busiest[0].wall.median == times.busiest[0].wall.median);
  CHECK(read.busiest[0].cpu.distance == times.busiest[0].cpu.distance);
  CHECK(read.busiest[0].cpu.error == times.busiest[0].cpu.error);
}

TEST_CASE("tasks are compared only in what has the same sizes") {
  for (const std::int64_t rows : {6, 7}) {
    const Plan plan = halves(rows);
    std::uint64_t keys[2];
    for (int task = 0; task < 2; ++task) {
      WorkTimer timer(plan, task, 1, false);
      TimePoint now{};
      for (int i = 0; i < 3; ++i, now += 121ms) {
        timer.begin_step(now);
        if (!timer.timed()) continue;
        timer.add(0, tanh_of(plan, task), WorkTimer::Reading::now());
        static_cast<void>(timer.end_step(now, now + 120ms));
      }
      keys[task] = timer.times().busiest.at(0).key;
    }
    CHECK((keys[0] == keys[1]) == (rows == 6));
  }
}

TEST_CASE("after a timed step none is timed until the clocks that it read cost half a percent") {
  const Plan plan = halves(6);
  WorkTimer timer(plan, 0, 1, false);
  TimePoint now{};
  run(timer, plan, 2, now);
  for (int k = 0; k < 10; ++k) {
    timer.begin_step(now);
    REQUIRE(timer.timed());
    for (int i = 0; i < 10; ++i) timer.add(0, tanh_of(plan, 0), WorkTimer::Reading::now());
    static_cast<void>(timer.end_step(now, now));
    timer.begin_step(now + 999us);
    CHECK(!timer.timed());
    now += 1ms;
  }
}

TEST_CASE("a step that takes longer than that is timed, and so is the next one") {
  const Plan plan = halves(6);
  WorkTimer timer(plan, 0, 1, false);
  TimePoint now{};
  run(timer, plan, 2, now);
  for (int k = 0; k < 10; ++k, now += 10ms) {
    timer.begin_step(now);
    CHECK(timer.timed());
    timer.add(0, tanh_of(plan, 0), WorkTimer::Reading::now());
    static_cast<void>(timer.end_step(now, now + 10ms));
  }
}

TEST_CASE("what is measured is told soon after the beginning, and later twice a second") {
  const Plan plan = halves(6);
  WorkTimer timer(plan, 0, 1, false);
  TimePoint now{};
  run(timer, plan, 2, now);
  const auto told_in = [&](int steps) {
    int told = 0;
    for (int k = 0; k < steps; ++k, now += 10ms) {
      timer.begin_step(now);
      if (timer.end_step(now, now + 10ms)) ++told;
    }
    return told;
  };
  CHECK(told_in(50) == 5);
  told_in(1000);
  CHECK(told_in(1000) == 20);
}

TEST_CASE("a loop of many short instructions is not timed to its end, nor in later steps") {
  const Plan plan = halves(6);
  WorkTimer timer(plan, 0, 1, false);
  TimePoint now{};
  run(timer, plan, 2, now);
  timer.begin_step(now);
  int added = 0;
  for (; timer.reads(0); ++added) timer.add(0, tanh_of(plan, 0), WorkTimer::Reading::now());
  CHECK(added < 10'000);
  static_cast<void>(timer.end_step(now, now + 120ms));
  timer.begin_step(now + 24h);
  CHECK(!timer.timed());
  CHECK(timer.times().samples == 0);
}

}  // namespace
}  // namespace ferry
