// Plans of pipelines: each task's instructions are in the order that the schedule has for it, and keep what it says.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "ops/train/pipeline.hpp"
#include "placement/microbatches/label_ops.hpp"
#include "placement/plan/costs.hpp"
#include "placement/verify/verify.hpp"
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

/// Equal stages, a layer each, of which stage s is on task at[s].
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

/// The microbatches that the task works on, in the order of its instructions.
Visits visits_of(const Plan& plan, const PlanClass& role, const Graph& g, const LabelledOps& labelled,
                 const Region& region) {
  Visits visits;
  for (std::uint32_t k = 0; k < region.instructions.count; ++k) {
    const Instruction& i = role.instructions[region.instructions.begin + k];
    if (i.what == Opcode::tiles)
      for (const Visit& visit : visits_of(plan, role, g, labelled, role.regions[i.target])) add(visits, visit);
    if (i.what != Opcode::kernel) continue;
    const auto op = g.find(plan.strings[i.name]);
    if (op && labelled.work[*op].is_one()) add(visits, {labelled.work[*op].index, labelled.work[*op].backward});
  }
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
    for (const int rounds : {1, 2})
      for (std::uint32_t tasks = 2; tasks <= 4; ++tasks)
        for (const std::int64_t microbatches : {1, 2, 4, 8}) {
          if (rounds > 1 && microbatches % tasks != 0) continue;
          CAPTURE(name_of(schedule));
          CAPTURE(rounds);
          CAPTURE(tasks);
          CAPTURE(microbatches);
          const test::Pipeline pipeline{test::in_turn(tasks, rounds), microbatches, schedule};
          const Network network(pipeline);
          const Plan plan = network.plan(static_cast<int>(tasks));
          const LabelledOps labelled = label_ops(network.g);
          CHECK(verify(plan).reason == "");
          for (std::uint32_t task = 0; task < tasks; ++task) {
            const PlanClass& role = plan.classes[plan.class_of[task]];
            for (const Region& region : role.regions)
              if (region.kind == Region::Kind::step)
                CHECK(visits_of(plan, role, network.g, labelled, region) == wanted_visits(pipeline, task));
          }
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
  const PlanClass& role = plan.classes[plan.class_of[1]];
  const Visits visits = visits_of(plan, role, g, label_ops(g), role.regions[1]);
  const auto backward = std::find_if(visits.begin(), visits.end(), [](const Visit& visit) { return visit.second; });
  CHECK(backward - visits.begin() == 3);
  CHECK(std::all_of(backward, visits.end(), [](const Visit& visit) { return visit.second; }));
}

/// Bytes that a task needs in a step.
std::int64_t bytes_of(const Plan& plan, std::uint32_t task) {
  return static_cast<std::int64_t>(memory_of(plan.classes[plan.class_of[task]]));
}

TEST_CASE("gpipe keeps every microbatch in each stage, 1f1b no more of many than of some") {
  constexpr std::uint32_t kTasks = 4;
  constexpr std::int64_t kValue = 8 * 16 * 4;  // of a microbatch, between two layers
  const auto grown = [&](PipelineSchedule schedule, std::uint32_t task) {
    const auto planned = [&](std::int64_t microbatches) {
      return Network({test::in_turn(kTasks), microbatches, schedule}).plan(kTasks);
    };
    return bytes_of(planned(16), task) - bytes_of(planned(8), task);
  };
  for (std::uint32_t s = 1; s + 1 < kTasks; ++s) {
    CAPTURE(s);
    CHECK(grown(PipelineSchedule::gpipe, s) >= 8 * 2 * kValue);  // what came in, and what the layer gave
    CHECK(grown(PipelineSchedule::one_f_one_b, s) <= kValue);    // a gap between buffers
  }
}

}  // namespace
}  // namespace ferry
