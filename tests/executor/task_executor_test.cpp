#include "executor/run/task_executor.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "kernels/kernel.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "plan/traffic/class_traffic.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/plans.hpp"

using namespace ferry;

namespace {

/// The tasks of a plan, each on a thread of its own, as a session would drive them.
class Job {
 public:
  explicit Job(Plan plan, ExecutorOptions options = {})
      : plan_(std::move(plan)), options_(options), transports_(inproc_transports(plan_.topology.size())) {
    require_verified(plan_);
    errors_.resize(transports_.size());
    executors_.resize(transports_.size());
    fetched_.resize(transports_.size(), std::vector<Tensor>(plan_.fetches.size()));
    for (std::size_t t = 0; t < transports_.size(); ++t) {
      const int threads = static_cast<int>(plan_.class_for(static_cast<int>(t)).threads);
      workers_.push_back(std::make_unique<Workers>(WorkersOptions{threads, true, {}}));
    }
  }
  ~Job() {
    for (auto& transport : transports_) transport->close();
  }

  /// Runs steps on the tasks that `only` names, all if it is empty.
  void run(std::int64_t steps, std::span<const Tensor> feeds = {}, const std::vector<int>& only = {}) {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < transports_.size(); ++t) {
      if (!only.empty() && std::find(only.begin(), only.end(), static_cast<int>(t)) == only.end()) continue;
      threads.emplace_back([this, t, steps, feeds] { run_task(static_cast<int>(t), steps, feeds); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  [[nodiscard]] const std::vector<Tensor>& fetched(int task = 0) const { return fetched_[task]; }
  [[nodiscard]] const Error* error(int task) const {
    const auto& error = errors_[task];
    return error ? &*error : nullptr;
  }
  /// Checks that each task's traffic is what its plan says.
  void check_traffic() const {
    for (std::size_t t = 0; t < executors_.size(); ++t) {
      const auto runs = executors_[t]->region_runs();
      Traffic planned, by_link;
      for (std::uint32_t region = 1; region < runs.size(); ++region)
        for (std::int64_t i = 0; i < runs[region]; ++i) {
          planned += traffic_of(plan_, static_cast<int>(t), region);
          for (const LinkTraffic& link : sends_of(plan_, static_cast<int>(t), region))
            by_link += {.sent_messages = link.messages, .sent_bytes = link.bytes};
        }
      CHECK(executors_[t]->measured() == planned);
      CHECK(by_link.sent_messages == planned.sent_messages);
      CHECK(by_link.sent_bytes == planned.sent_bytes);
    }
  }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  std::vector<std::int64_t> allocated;  ///< allocations of task 0 in each step

 private:
  void run_task(int task, std::int64_t steps, std::span<const Tensor> feeds) {
    const auto t = static_cast<std::size_t>(task);
    try {
      auto executor = std::make_unique<TaskExecutor>(
          plan_, task, *transports_[t], *workers_[t], [](std::string_view) -> std::byte* { return nullptr; }, options_);
      for (std::int64_t step = 0; step < steps; ++step) {
        const std::int64_t before = test::allocations();
        executor->step(step, feeds, fetched_[t]);
        if (task == 0) allocated.push_back(test::allocations() - before);
      }
      const std::lock_guard lock(mutex_);
      executors_[t] = std::move(executor);
    } catch (const Error& error) {
      transports_[t]->abort({task, error.code(), error.text()});
      const std::lock_guard lock(mutex_);
      errors_[t] = error;
    }
  }

  Plan plan_;
  ExecutorOptions options_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<Workers>> workers_;
  std::mutex mutex_;
  std::vector<std::optional<Error>> errors_;
  std::vector<std::vector<Tensor>> fetched_;
  std::vector<std::unique_ptr<TaskExecutor>> executors_;
};

/// a on task 0, b on task 1, c = a + b on task 2.
Plan three_machines(Graph& g) {
  const Value a = g.constant({1, 2, 3}, on("/task:0"));
  const Value b = g.constant({10, 20, 30}, on("/task:1"));
  Value c;
  {
    const Scope here = g.device("/task:2");
    c = (a + b).named("c");
  }
  return test::planned(g, {c}, 3);
}

/// Deals the kernels of a chain out to two threads in turn; each instruction waits for the one before on the other.
Plan on_two_threads(Plan plan) {
  PlanClass& role = plan.classes[0];
  role.threads = 2;
  plan.topology.tasks[0].threads = 2;
  const Range range = role.regions[1].instructions;
  std::uint32_t counts[2] = {0, 0};
  for (const std::uint32_t i : range) {
    Instruction& instruction = role.instructions[i];
    const bool moves = instruction.what != Opcode::kernel;
    instruction.strand = moves ? 0 : static_cast<std::uint16_t>(i % 2);
    const std::uint32_t other = 1U - instruction.strand;
    instruction.waits = {static_cast<std::uint32_t>(role.waits.size()), 1};
    role.waits.push_back({other, counts[other]});
    ++counts[instruction.strand];
  }
  return plan;
}

}  // namespace

TEST_CASE("c = a + b over three tasks") {
  Graph g;
  Job job(three_machines(g));
  job.run(1);
  for (int task = 0; task < 3; ++task) REQUIRE_MESSAGE(job.error(task) == nullptr, job.error(task)->text());
  CHECK(job.fetched()[0].str() == "[11 22 33]");
  CHECK(!job.fetched(1)[0].defined());
  job.check_traffic();
}

TEST_CASE("steps run again and again, and allocate nothing once they run") {
  Graph g;
  const Value x = g.input("x", DType::float32, {4});
  Value y = x;
  for (int i = 0; i < 10; ++i) y = y + x;
  Job job(test::planned(g, {y}, 1, {}, {{x.id(), {4}}}));
  const Tensor fed[] = {Tensor::of<float>({4}, {1, 2, 3, 4})};
  job.run(20, fed);
  CHECK(job.fetched()[0].str() == "[11 22 33 44]");
  REQUIRE(job.allocated.size() == 20);
  for (std::size_t step = 2; step < 20; ++step) CHECK(job.allocated[step] == 0);
}

TEST_CASE("threads wait for one another, step after step") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  Value y = x;
  for (int i = 0; i < 21; ++i) y = y + 1.0;
  Job job(on_two_threads(test::planned(g, {y}, 1, {}, {{x.id(), {3}}})));
  const Tensor fed[] = {Tensor::of<float>({3}, {1, 2, 3})};
  job.run(50, fed);
  REQUIRE_MESSAGE(job.error(0) == nullptr, job.error(0)->text());
  CHECK(job.fetched()[0].str() == "[22 23 24]");
}

TEST_CASE("a loop runs its body until the condition is false, and counts its traffic") {
  Graph g;
  const Value start = g.constant(1.0F);
  const Values results = while_loop(
      {start}, [](const Values& v) { return less(v[0], 100.0); }, [](const Values& v) { return Values{v[0] + v[0]}; });
  Job job(test::planned(g, {results[0]}, 1));
  job.run(3);
  REQUIRE_MESSAGE(job.error(0) == nullptr, job.error(0)->text());
  CHECK(job.fetched()[0].str() == "128");
  job.check_traffic();
}

TEST_CASE("what a kernel throws names op, task and line, and reaches the other tasks") {
  static constexpr Kernel kFailing{.op = "Add", .run = [](KernelRun&) { throw Error(Code::numeric, "it is NaN"); }};
  KernelTable table(DeviceKind::cpu, "test", "none", nullptr);
  table.add(std::span(&kFailing, 1));
  static constexpr Kernel kConstantKernel{.op = "Constant", .run = [](KernelRun&) {}};
  table.add(std::span(&kConstantKernel, 1));
  Graph g;
  Job job(three_machines(g), {.run = {.kernels = &table}});
  job.run(1);
  REQUIRE(job.error(2) != nullptr);
  CHECK(job.error(2)->code() == Code::numeric);
  CHECK(job.error(2)->text().find("Add \"c\" on task 2: it is NaN") != std::string::npos);
  CHECK(job.error(2)->text().find("task_executor_test.cpp:") != std::string::npos);
  REQUIRE(job.error(0) != nullptr);
  CHECK(job.error(0)->code() == Code::peer_lost);
  CHECK(job.error(0)->text().find("it is NaN") != std::string::npos);
}

TEST_CASE("a plan that gives a kernel too little scratch is refused") {
  Graph g;
  const Value x = g.constant(Tensor(DType::int8, {1000}));
  Job job(test::planned(g, {matmul(reshape(x, {10, 100}), reshape(x, {100, 10}))}, 1));  // for kernels without scratch
  job.run(1);
  REQUIRE(job.error(0) != nullptr);
  CHECK(job.error(0)->code() == Code::plan);
  CHECK(job.error(0)->text().find("MatMul: the plan gives it 0 bytes of scratch, it needs ") != std::string::npos);
}

TEST_CASE("a task that never comes gives a verdict at the deadline") {
  Graph g;
  Job job(three_machines(g), {.limit = {&system_clock(), std::chrono::milliseconds(50)}});
  job.run(1, {}, {2});
  REQUIRE(job.error(2) != nullptr);
  CHECK(job.error(2)->code() == Code::stalled);
  const std::string& text = job.error(2)->text();
  CHECK(text.find("task 2 waits in receive_wait of") != std::string::npos);
  CHECK(text.find("from task 0") != std::string::npos);
  CHECK(text.find("also pending: receive of") != std::string::npos);
  CHECK(text.find("task_executor_test.cpp:") != std::string::npos);
}
