#include "bench/graphs/one_task.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/system/clock.hpp"
#include "kernels/kernel.hpp"
#include "ops/math/random.hpp"
#include "ops/op_set.hpp"
#include "plan/kernel_work.hpp"
#include "plan/plan_result.hpp"

namespace ferry::bench {
namespace {

constexpr Kernel kKernels[] = {{.op = "Nothing", .run = [](KernelRun&) {}}, {.op = "Sink", .run = [](KernelRun&) {}}};

const KernelTable& kernels_with_these() {
  static const KernelTable table = [] {
    KernelTable made = cpu_kernels();
    made.add(kKernels);
    return made;
  }();
  return table;
}

}  // namespace

constexpr OpDef kNothing{.name = "Nothing",
                         .types = "T...->T",
                         .infer = [](const OpFacts& facts) { return std::vector<Shape>{facts.shape(0)}; },
                         .flops = 0,
                         .flags = kRandom,  // so that equal ops are not merged
                         .no_grad = "it does nothing"};

constexpr OpDef kSink{.name = "Sink",
                      .types = "T->T",
                      .infer = [](const OpFacts&) { return std::vector<Shape>{Shape()}; },
                      .flops = 0,
                      .no_grad = "it does nothing"};

std::unique_ptr<Session> one_task_session(const Graph& graph, int threads) {
  ClusterOptions cluster;
  cluster.tasks = 1;
  cluster.threads = threads;
  cluster.transport = "inproc";
  SessionOptions options;
  options.run.kernels = &kernels_with_these();
  options.plan.default_device = DeviceKind::cpu;
  return std::make_unique<Session>(graph, Cluster::connect(cluster), options);
}

OneOp::OneOp(const std::vector<Ints>& sizes, const std::function<Value(const Values&)>& make, int threads, int steps) {
  Values inputs;
  for (const Ints& size : sizes)
    inputs.push_back(graph_.variable("x" + std::to_string(inputs.size()),
                                     normal(graph_, Shape(std::span<const std::int64_t>(size)))));
  request_.fetches = {graph_.add(kSink, Values{make(inputs)}, {}, SourceLine())[0]};
  request_.steps = steps;
  session_ = one_task_session(graph_, threads);
}

double OneOp::run() {
  const TimePoint begin = system_clock().now();
  static_cast<void>(session_->run(request_));
  return std::chrono::duration<double>(system_clock().now() - begin).count() / static_cast<double>(request_.steps);
}

double OneOp::least(double seconds) {
  return shortest_within(system_clock(), seconds,
                         {[this](std::int64_t steps) { return least_step(*session_, request_, steps); }});
}

OpWork OneOp::work() {
  const Plan& plan = session_->plan(request_).plan;
  const PlanClass& role = plan.class_for(0);
  OpWork all;
  for (const Region& region : role.regions) {
    if (region.kind == Region::Kind::setup) continue;
    for (const std::uint32_t i : region.instructions) {
      const Instruction& instruction = role.instructions[i];
      const OpDef* const def = default_ops().find(plan.string(instruction.op));
      if (instruction.what != Opcode::kernel || def == nullptr) continue;
      const OpWork work = kernel_work(*def, plan, role, instruction);
      all = {all.flops + work.flops, all.bytes + work.bytes, work.kind};
    }
  }
  return all;
}

double least_step(Session& session, RunRequest request, std::int64_t steps) {
  double least = std::numeric_limits<double>::infinity();
  TimePoint last;
  request.steps = steps + 1;
  request.on_step = [&](std::int64_t step, std::span<const Tensor>) {
    const TimePoint now = system_clock().now();
    if (step > 0) least = std::min(least, std::chrono::duration<double>(now - last).count());
    last = now;
  };
  static_cast<void>(session.run(request));
  return least < std::numeric_limits<double>::infinity() ? least : 0;
}

double shortest_within(Clock& clock, double seconds, const MeasuredRuns& runs) {
  constexpr double kMostSteps = 1e5;
  const TimePoint begin = clock.now();
  double least = std::numeric_limits<double>::infinity(), passed = 0;
  for (double steps = 2; steps >= 1;) {
    least = std::min(least, runs.run(static_cast<std::int64_t>(steps)));
    const double before = std::exchange(passed, runs.agree(std::chrono::duration<double>(clock.now() - begin).count()));
    const double of_step = (passed - before) / (std::floor(steps) + 1);
    steps = std::min((seconds - passed) / of_step - 1, kMostSteps);
  }
  return least;
}

}  // namespace ferry::bench
