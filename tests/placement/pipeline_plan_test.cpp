// Plans of pipelines: each task's instructions are in the order of its schedule.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/op/op_time.hpp"
#include "ops/control/label_ops.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/op_set.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/pipeline.hpp"
#include "plan/traffic/costs.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/pipelines.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// A microbatch, and whether it is its backward pass.
using Visit = std::pair<std::int64_t, bool>;
using Visits = std::vector<Visit>;

void add(Visits& visits, const Visit& visit) {
  if (visits.empty() || visits.back() != visit) visits.push_back(visit);
}

/// Equal stages, a layer each; stage s is on task at[s].
struct Network {
  Graph g;
  Values updates;

  explicit Network(const test::Pipeline& pipeline) {
    const Scope names = g.name("net");
    Values weights;
    Value x = g.input("x", DType::float32, {pipeline.microbatches * 8, 16});
    for (std::size_t s = 0; s < pipeline.at.size(); ++s) {
      const Scope here = g.device("/task:" + std::to_string(pipeline.at[s]));
      weights.push_back(g.variable("w" + std::to_string(s), g.constant(Tensor(DType::float32, {16, 16}))));
      x = tanh(matmul(x, weights.back()));
    }
    const Scope here = g.device("/task:" + std::to_string(pipeline.at.back()));
    const Value loss = ferry::pipeline(mean(x), {.microbatches = pipeline.microbatches, .schedule = pipeline.schedule});
    updates = sgd(loss, weights, 0.1);
  }

  [[nodiscard]] Plan plan(int tasks) const {
    const ValueId x = g.op(*g.find("net/x")).output(0);
    return test::planned(g, {}, Topology::local(tasks), updates, {{x, g.type(x).shape.sizes()}});
  }
};

using Kernels = std::vector<std::pair<Instruction, MicrobatchWork>>;

void add_kernels(const Plan& plan, const PlanClass& role, const Graph& g, const LabelledOps& labelled,
                 const Region& region, Kernels& kernels) {
  for (std::uint32_t k = 0; k < region.instructions.count; ++k) {
    const Instruction& i = role.instructions[region.instructions[k]];
    if (i.what == Opcode::tiles) add_kernels(plan, role, g, labelled, role.regions[i.region()], kernels);
    if (i.what != Opcode::kernel) continue;
    const auto op = g.find(plan.strings[i.name]);
    if (op && labelled.work[*op].is_one()) kernels.emplace_back(i, labelled.work[*op]);
  }
}

/// The kernels of the task's step that work on one microbatch, in their order.
Kernels kernels_of(const Plan& plan, std::uint32_t task, const Graph& g) {
  const PlanClass& role = plan.classes[plan.class_of[task]];
  Kernels kernels;
  add_kernels(plan, role, g, label_ops(g), role.regions[1], kernels);
  return kernels;
}

/// The microbatches that the task works on, in the order of its instructions.
Visits visits_of(const Plan& plan, std::uint32_t task, const Graph& g) {
  Visits visits;
  for (const auto& [kernel, work] : kernels_of(plan, task, g)) add(visits, {work.index, work.backward});
  return visits;
}

/// The same as the schedule has it.
Visits wanted_visits(const test::Pipeline& pipeline, std::uint32_t device) {
  const std::vector<PipelineWork> work = pipeline.work();
  Visits visits;
  const auto order = schedule_work(work, {{pipeline.schedule}});
  for (const ScheduledWork& next : *order)
    if (const PipelineWork& w = work[next.work]; w.device == device)
      add(visits, {w.microbatch, w.pass != PipelineWork::Pass::forward});
  return visits;
}

TEST_CASE("tasks work on microbatches in the order of the schedule") {
  for (const PipelineSchedule schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b})
    for (std::uint32_t tasks = 2; tasks <= 4; ++tasks)
      for (const std::int64_t microbatches : {1, 2, 4, 8})
        for (const auto& at : {test::in_turn(tasks), test::in_turn(tasks, 2), test::down_and_back(tasks)}) {
          if (at.size() == 2 * tasks && microbatches % tasks != 0) continue;
          if (at == test::down_and_back(tasks) && schedule == PipelineSchedule::gpipe) continue;  // times decide
          CAPTURE(name_of(schedule));
          CAPTURE(tasks);
          CAPTURE(microbatches);
          CAPTURE(at.size());
          const test::Pipeline pipeline{at, microbatches, schedule};
          const Network network(pipeline);
          const Plan plan = network.plan(static_cast<int>(tasks));
          CHECK(verify(plan).reason == "");
          for (std::uint32_t task = 0; task < tasks; ++task)
            CHECK(visits_of(plan, task, network.g) == wanted_visits(pipeline, task));
        }
}

TEST_CASE("where the backward pass needs all losses, all forward passes come first") {
  Graph g;
  const Value x = g.input("x", DType::float32, {12, 16});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {16, 16}), on("/task:1")));
  Value y;
  {
    const Scope here = g.device("/task:1");
    y = matmul(tanh(x), w);
  }
  const Value loss = square(ferry::pipeline(mean(y), {.microbatches = 3}));
  const Plan plan = test::planned(g, {}, Topology::local(2), sgd(loss, {w}, 0.1), {{x.id(), {12, 16}}});
  CHECK(verify(plan).reason == "");
  const Visits visits = visits_of(plan, 1, g);
  const auto backward = std::find_if(visits.begin(), visits.end(), [](const Visit& visit) { return visit.second; });
  CHECK(backward - visits.begin() == 3);
  CHECK(std::all_of(backward, visits.end(), [](const Visit& visit) { return visit.second; }));
}

/// The most bytes that a task has at a time of what forward passes have read or written and backward passes read.
std::int64_t most_kept(const Plan& plan, std::uint32_t task, const Graph& g) {
  const PlanClass& role = plan.classes[plan.class_of[task]];
  const Kernels kernels = kernels_of(plan, task, g);
  struct Kept {
    std::size_t first = 0, last = 0;
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, Kept> kept;  // by buffer and microbatch
  for (std::size_t at = 0; at < kernels.size(); ++at) {
    const auto& kernel = kernels[at].first;
    const auto& work = kernels[at].second;
    const auto use = [&](Range operands) {
      for (const std::uint32_t b : role.operands_of(operands)) {
        std::uint32_t buffer = b;
        while (role.buffers[buffer].view_of != kNone) buffer = role.buffers[buffer].view_of;
        if (role.buffers[buffer].space != Buffer::Space::step) continue;
        const auto found = kept.find({buffer, work.index});
        if (!work.backward) kept.try_emplace({buffer, work.index}, Kept{at, 0});
        if (work.backward && found != kept.end()) found->second.last = at;
      }
    };
    use(kernel.inputs);
    if (!work.backward) use(kernel.outputs);
  }
  std::int64_t most = 0;
  for (std::size_t at = 0; at < kernels.size(); ++at) {
    std::int64_t now = 0;
    for (const auto& [of, when] : kept)
      if (when.first <= at && at <= when.last) now += static_cast<std::int64_t>(role.buffers[of.first].bytes);
    most = std::max(most, now);
  }
  return most;
}

constexpr std::int64_t kValue = 8 * 16 * 4;  // bytes of a microbatch between two layers
constexpr std::int64_t kPass = 2 * kValue;   // what came in, and what the layer gave

/// The same of each task, in forward passes of a stage.
std::vector<std::int64_t> passes_kept(const test::Pipeline& pipeline, std::uint32_t tasks) {
  const Network network(pipeline);
  const Plan plan = network.plan(static_cast<int>(tasks));
  std::vector<std::int64_t> passes;
  for (std::uint32_t task = 0; task < tasks; ++task)
    passes.push_back(most_kept(plan, task, network.g) / kPass);  // the last one has the loss besides
  return passes;
}

TEST_CASE("plans keep as many bytes of activations as the schedules say") {
  for (const std::uint32_t p : {2, 3, 4})
    for (const std::int64_t m : {2 * p, 4 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      for (const int v : {1, 2, 3}) {
        CAPTURE(v);
        const auto kept = [&](PipelineSchedule schedule) { return passes_kept({test::in_turn(p, v), m, schedule}, p); };
        const auto all = kept(PipelineSchedule::gpipe), some = kept(PipelineSchedule::one_f_one_b),
                   apart = kept(PipelineSchedule::zero_bubble);
        for (std::uint32_t s = 0; s < p; ++s) {
          CAPTURE(s);
          const std::int64_t most = v == 1 ? p - s : 2 * (p - s - 1) + (v - 1) * p + 1;
          CHECK(all[s] == v * m);
          CHECK(some[s] == std::min(v * m, most));
          CHECK(apart[s] <= some[0]);
        }
      }
      const auto kept = [&](PipelineSchedule schedule) {
        return passes_kept({test::down_and_back(p), m, schedule}, p);
      };
      const auto all = kept(PipelineSchedule::gpipe), some = kept(PipelineSchedule::one_f_one_b),
                 apart = kept(PipelineSchedule::zero_bubble);
      for (std::uint32_t s = 0; s < p; ++s) {
        CAPTURE(s);
        const int stages = s + 1 < p ? 2 : 1;
        CHECK(all[s] == stages * m);
        CHECK(some[s] <= stages * p);
        CHECK(apart[s] <= stages * p);
      }
    }
}

TEST_CASE("the arena grows with the microbatches where a schedule keeps all of them") {
  constexpr std::uint32_t kTasks = 4;
  const auto grown = [&](PipelineSchedule schedule, std::uint32_t task) {
    const auto bytes_of = [&](std::int64_t microbatches) {
      const Plan plan = Network({test::in_turn(kTasks), microbatches, schedule}).plan(kTasks);
      return static_cast<std::int64_t>(memory_of(plan.classes[plan.class_of[task]]));
    };
    return bytes_of(16) - bytes_of(8);
  };
  for (std::uint32_t s = 1; s + 1 < kTasks; ++s) {
    CAPTURE(s);
    CHECK(grown(PipelineSchedule::gpipe, s) >= 8 * kPass);
    CHECK(grown(PipelineSchedule::one_f_one_b, s) <= kValue);  // a gap between buffers
  }
}

/// The planned time of a forward pass with `functions` functions of the elements of a row, one after another.
std::int64_t planned_forward(int functions, std::int64_t elements) {
  Graph g;
  const Scope here = g.device("/task:0");
  Value x = g.input("x", DType::float32, {2, elements});
  for (int k = 0; k < functions; ++k) x = tanh(x);
  const Value loss = pipeline(mean(x), {.microbatches = 2});
  Signature signature;
  signature.fetches = {loss.id()};
  signature.feeds = {{g.op(*g.find("x")).output(0), 0, {2, elements}}};
  PlanOptions options;
  options.reasons = true;
  const PlanResult result = make_plan(g, signature, Topology::local(1), test::AllKernels(), options);
  REQUIRE(result.pipelines.size() == 1);
  return result.pipelines[0].rows[0].work[0].time;
}

TEST_CASE("a value that a chain of elementwise ops keeps in the cache adds no memory traffic to the work of a stage") {
  constexpr std::int64_t kElements = 1 << 16;
  const OpDef& def = *default_ops().find("Tanh");
  const OpWork in_between{def.flops * kElements, 0};
  CHECK(planned_forward(3, kElements) - planned_forward(2, kElements) ==
        kernel_picoseconds(DeviceKind::cpu, {}, in_between));
}

}  // namespace
}  // namespace ferry
