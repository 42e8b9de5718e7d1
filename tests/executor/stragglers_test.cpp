// Who is told to keep the others waiting, from tables as tasks measure them, and in a job with one slow task.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "base/system/clock.hpp"
#include "base/system/log.hpp"
#include "executor/session/session.hpp"
#include "executor/watch/slowness.hpp"
#include "executor/watch/work_times.hpp"
#include "graph/graph.hpp"
#include "kernels/kernel.hpp"
#include "ops/array/array.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/has.hpp"

namespace ferry {
namespace {

using test::has;

constexpr std::uint64_t kMatMul = 1, kTanh = 2;

/// A task that multiplies once in a step of 10 ms, in `wall` ms, and waits for the rest.
WorkTimes task_of(double wall, double cpu, double distance = 0.01, std::int64_t samples = 64) {
  WorkTimes times{.plan = 7, .samples = samples, .step = 0.010, .waiting = 0.010 - wall * 1e-3};
  const double error = error_of_median(distance, static_cast<std::size_t>(samples));
  times.busiest = {{.key = kMatMul,
                    .op = "MatMul at x.cpp:40",
                    .runs = 1,
                    .wall = {wall * 1e-3, distance * 1e-3, error * 1e-3},
                    .cpu = {cpu * 1e-3, distance * 1e-3, error * 1e-3}}};
  return times;
}

std::vector<WorkTimes> four_alike() {
  return {task_of(8, 8), task_of(8.05, 8.04), task_of(7.96, 7.95), task_of(8.01, 8)};
}

TEST_CASE("a task whose op takes longer than elsewhere is slow") {
  std::vector<WorkTimes> tasks = four_alike();
  CHECK(judge_stragglers(tasks).empty());
  tasks[2] = task_of(8.97, 8.95);
  const auto found = judge_stragglers(tasks);
  REQUIRE(found.size() == 1);
  CHECK(found[0].task == 2);
  CHECK(found[0].cause == Straggler::Cause::slow);
  CHECK(found[0].slowdown == doctest::Approx(0.12).epsilon(0.01));
  CHECK(found[0].cost == doctest::Approx(0.096).epsilon(0.01));
  CHECK(text_of(found[0], "task 2 (host b, process 4711)") ==
        "task 2 (host b, process 4711) takes 12 % longer than the others in MatMul at x.cpp:40; without that, steps "
        "would be 10 % shorter\n"
        "  try: look at that host's clock rate, temperature, and other users of its memory; or give it less");
}

TEST_CASE("a task that does not get its core is told so") {
  std::vector<WorkTimes> tasks = four_alike();
  for (WorkTimes& task : tasks) task.step = 0.016, task.waiting = 0.008;
  tasks[3] = task_of(16, 8.1);
  tasks[3].step = 0.016;
  tasks[3].waiting = 0;
  const auto found = judge_stragglers(tasks);
  REQUIRE(found.size() == 1);
  CHECK(found[0].cause == Straggler::Cause::starved);
  CHECK(text_of(found[0], "task 3") ==
        "task 3 takes 100 % longer than the others in MatMul at x.cpp:40, where it gets 51 % of its core; without "
        "that, steps would be "
        "50 % shorter\n"
        "  try: see what else runs on that host (top), and what limits the task (taskset, cgroup)");
}

TEST_CASE("nobody is blamed for what is small, varies, delays nobody, or is not known yet") {
  std::vector<WorkTimes> tasks = four_alike();
  tasks[2] = task_of(8.7, 8.7);
  CHECK(judge_stragglers(tasks).empty());
  tasks[2] = task_of(8.97, 8.95, 0.3);
  CHECK(judge_stragglers(tasks).empty());
  tasks[2] = task_of(8.97, 8.95);
  tasks[2].waiting = tasks[0].waiting;
  CHECK(judge_stragglers(tasks).empty());
  tasks[2] = task_of(8.97, 8.95);
  tasks[2].samples = 29;
  CHECK(judge_stragglers(tasks).empty());
  tasks[2].samples = 30;
  CHECK(judge_stragglers(tasks).size() == 1);
  tasks[2].plan = 8;
  CHECK(judge_stragglers(tasks).empty());
  tasks[2] = task_of(8.97, 8.95);
  tasks[2].busiest[0].key = kTanh;
  CHECK(judge_stragglers(tasks).empty());
}

TEST_CASE("a task that is clearly slow is found from few samples, and from more where it varies") {
  // Another thread takes every other slice of its core.
  const auto found = [](double wall, double distance, std::int64_t samples) {
    std::vector<WorkTimes> tasks(4, task_of(8, 8, 0.1, samples));
    for (WorkTimes& task : tasks) task.step = 0.016, task.waiting = 0.008;
    tasks[3] = task_of(wall, 8, distance, samples);
    tasks[3].step = 0.016;
    tasks[3].waiting = 0;
    const auto stragglers = judge_stragglers(tasks);
    CHECK(stragglers.size() <= 1);
    return !stragglers.empty() && stragglers[0].task == 3 && stragglers[0].cause == Straggler::Cause::starved;
  };
  CHECK(found(16, 1, 6));
  CHECK_FALSE(found(16, 1, 5));
  CHECK_FALSE(found(16, 4, 10));
  CHECK(found(16, 4, 32));
  CHECK_FALSE(found(11, 1, 64));
  CHECK_FALSE(found(11, 0.1, 10));
}

TEST_CASE("where threads share cores, only the time of the CPU counts, and only a clear difference") {
  std::vector<WorkTimes> shared = four_alike(), told = four_alike();
  for (WorkTimes& task : shared)
    for (WorkTimes::Work& work : task.busiest) work.cpu.median /= 2;
  for (WorkTimes& task : told) task.crowded = true;
  for (std::vector<WorkTimes>* tasks : {&shared, &told}) {
    const double cpu = (*tasks)[1].busiest[0].cpu.median;
    (*tasks)[1].busiest[0].wall.median *= 3;
    (*tasks)[1].waiting = 0;
    CHECK(judge_stragglers(*tasks).empty());
    (*tasks)[1].busiest[0].cpu.median = 1.4 * cpu;
    CHECK(judge_stragglers(*tasks).empty());
    (*tasks)[1].busiest[0].cpu.median = 1.6 * cpu;
    REQUIRE(judge_stragglers(*tasks).size() == 1);
    CHECK(judge_stragglers(*tasks)[0].cause == Straggler::Cause::slow);
  }
}

TEST_CASE("a task with more to compute than the others is not called slow") {
  std::vector<WorkTimes> tasks = four_alike();
  for (WorkTimes& task : tasks) task.step = 0.014, task.waiting = 0.006;
  tasks[0].waiting = 0;
  tasks[0].busiest.push_back({.key = kTanh, .op = "Tanh", .runs = 3, .wall = {0.002, 0}, .cpu = {0.002, 0}});
  const auto found = judge_stragglers(tasks);
  REQUIRE(found.size() == 1);
  CHECK(found[0].task == 0);
  CHECK(found[0].cause == Straggler::Cause::uneven);
  CHECK(has(text_of(found[0], "task 0"), "task 0 has 47 % more to compute than the tasks have on average"));
}

TEST_CASE("a task that computes the same, but slowly where that is not sure, has no more to compute") {
  std::vector<WorkTimes> tasks = four_alike();
  for (WorkTimes& task : tasks) task.step = 0.016, task.waiting = 0.008;
  tasks[3] = task_of(16, 16, 8);
  tasks[3].step = 0.016;
  tasks[3].waiting = 0;
  CHECK(judge_stragglers(tasks).empty());
}

TEST_CASE("who is slow from the beginning is looked at often, later ones seldom") {
  using std::chrono::milliseconds;
  CHECK(report_interval(milliseconds(0)) == milliseconds(50));
  CHECK(report_interval(milliseconds(1500)) == milliseconds(100));
  CHECK(report_interval(milliseconds(4500)) == milliseconds(300));
  CHECK(report_interval(std::chrono::hours(1)) == milliseconds(500));
}

TEST_CASE("a task is warned of once, when it has been found in several looks with new samples") {
  std::vector<WorkTimes> tasks = four_alike();
  tasks[2] = task_of(8.97, 8.95);
  PersistentFindings<Straggler> findings(4);
  const auto look = [&](std::int64_t more) {
    for (WorkTimes& task : tasks) task.samples += more;
    return findings.look(tasks, judge_stragglers(tasks)).size();
  };
  for (int i = 1; i < findings.kLooks; ++i) {
    CHECK(look(1) == 0);
    CHECK(look(0) == 0);
  }
  CHECK(look(1) == 1);
  for (int i = 0; i < 2 * findings.kLooks; ++i) CHECK(look(1) == 0);
}

TEST_CASE("a task that is slow only for a short time is not warned of") {
  std::vector<WorkTimes> tasks = four_alike();
  PersistentFindings<Straggler> findings(4);
  for (int i = 0; i < 10 * findings.kLooks; ++i) {
    tasks[2] = i % findings.kLooks == 0 ? task_of(8, 8) : task_of(8.97, 8.95);
    tasks[2].samples = 64 + i;
    CHECK(findings.look(tasks, judge_stragglers(tasks)).empty());
  }
}

/// Takes the log while it lives, from any thread.
class Warnings {
 public:
  Warnings()
      : before_(log_sink([this](LogLevel, std::string_view lines) {
          const std::lock_guard lock(mutex_);
          text_ += lines;
          return true;
        })) {}
  ~Warnings() { log_sink(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  [[nodiscard]] std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
  LogSink before_;
};

constexpr OpDef kSpinOp{.name = "Spin", .types = "T->T", .T = kFloats, .index = "n->n", .no_grad = "a test"};

/// Takes x[0] times a thousand turns, which the compiler must not shorten.
void spin(KernelRun& run) {
  const auto turns = static_cast<std::int64_t>(1000 * *reinterpret_cast<const float*>(run.inputs[0].data));
  std::atomic<std::int64_t> turn{0};
  while (turn.load(std::memory_order_relaxed) < turns) turn.fetch_add(1, std::memory_order_relaxed);
  std::copy_n(run.inputs[0].data, run.outputs[0].sizes[0] * sizeof(float), run.outputs[0].data);
}

TEST_CASE("in a job, a task whose op takes ten times as long is warned of") {
  static constexpr Kernel kSpin{.op = "Spin", .run = spin};
  KernelTable table = cpu_kernels();
  table.add(std::span(&kSpin, 1));
  Warnings warnings;
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value x = g.input("x", DType::float32, {2}).laid({split(0)});
  const Value y = sum(g.add(kSpinOp, std::array{x}, {}, {})[0]);
  Session session(g, Cluster::connect({.tasks = 2, .threads = 1, .jobs = ""}),
                  {.plan = {.fuse_from = 0}, .run = {.kernels = &table}});
  RunRequest request;
  request.fetches = {y};
  request.feeds["x"] = Tensor::of<float>({2}, {100, 1000});
  request.steps = 50;
  const Deadline deadline(system_clock(), std::chrono::seconds(120));
  while (warnings.text().empty() && !deadline.expired()) session.run(request);
  CHECK(has(warnings.text(), "task 1 takes "));
  CHECK(has(warnings.text(), " % longer than the others in Spin"));
  const RunStats stats = session.stats();
  REQUIRE(stats.stragglers.size() == 1);
  CHECK(stats.stragglers[0].task == 1);
  CHECK(stats.tasks[1].computing_seconds > stats.tasks[0].computing_seconds);
  CHECK(stats.tasks[0].waiting_seconds > stats.tasks[1].waiting_seconds);
}

}  // namespace
}  // namespace ferry
