// Turns: the plan of a server and its workers, and changed plans, which the verifier refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "graph/graph.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/asynchronous.hpp"
#include "ops/train/optim.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// A server, task 0, that has a variable, and two workers.
Plan served(std::int64_t staleness) {
  Graph g;
  Value weights;
  {
    auto here = g.device("/job:ps/task:0");
    weights = g.variable("weights", g.constant(Tensor(DType::float32, {3})));
  }
  auto here = g.on(g.mesh("workers", "/job:worker/task:*"));
  const Value loss = mean(square(uniform(g, {8, 3}).laid({split(0)}) * weights));
  const Values updates = asynchronous(sgd(loss, {weights}, 0.1), {.staleness = staleness});
  Topology topology = Topology::local(3);
  topology.tasks[0].job = "ps";
  for (int task = 1; task < 3; ++task) topology.tasks[task].index_in_job = task - 1;
  return test::planned(g, {loss}, topology, updates);
}

PlanClass& server(Plan& plan) {
  return *std::ranges::find_if(plan.classes, [](const PlanClass& c) { return !c.serving.turns.empty(); });
}

/// The instruction `what` of the turn.
Instruction& first(Plan& plan, const Range& turn, Opcode what) {
  PlanClass& c = server(plan);
  for (std::uint32_t k = 0; k < turn.count; ++k) {
    Instruction& i = c.instructions[c.regions[1].instructions.first + turn.first + k];
    if (i.what == what) return i;
  }
  FAIL("there is no such instruction");
  return c.instructions[0];
}

/// The instruction of the turn that sets the variable: the last.
Instruction& assignment(Plan& plan, const Range& turn) {
  PlanClass& c = server(plan);
  return c.instructions[c.regions[1].instructions.first + turn.first + turn.count - 1];
}

TEST_CASE("a server has a turn of each worker to give and to take, and nobody else waits") {
  Plan plan = served(4);
  const Serving& serving = server(plan).serving;
  CHECK(serving.staleness == 4);
  REQUIRE(serving.turns.size() == 2);
  CHECK(serving.turns[0].worker == 1);
  CHECK(serving.turns[1].worker == 2);
  CHECK(plan.collectives.empty());
  CHECK(plan.channels.size() == 6);  // to each worker the weights, from each a gradient and a part of the loss
  const Verdict verdict = verify(plan);
  CHECK(verdict.reason == "");
  CHECK(std::ranges::any_of(verdict.proved,
                            [](const std::string& what) { return what.starts_with("1 server: its turns"); }));
}

TEST_CASE("with a staleness of 0 there are no turns") {
  const Plan plan = served(0);
  for (const PlanClass& c : plan.classes) CHECK(c.serving.turns.empty());
  CHECK(!plan.collectives.empty());
}

TEST_CASE("plans whose turns may not come in any order are refused") {
  const Plan plan = served(4);
  const auto refused = [&](const auto& change, const std::string& why) {
    Plan changed = plan;
    change(changed, server(changed).serving.turns);
    const Verdict verdict = verify(changed);
    CAPTURE(verdict.reason);
    CHECK(!verdict.pass);
    CHECK(test::has(verdict.reason, why));
  };
  using List = std::vector<Serving::Turns>;
  refused([](Plan& p, List&) { server(p).serving.staleness = 5; }, "workers may be 5 steps apart, but copy 'assign_1'");
  refused([](Plan& p, List&) { server(p).serving.staleness = 0; }, "workers may be 0 steps apart");
  refused([](Plan&, List& turns) { turns[1].worker = 1; }, "a turn's worker is out of range");
  refused([](Plan&, List& turns) { std::swap(turns[0].worker, turns[1].worker); }, "is a message of another worker's");
  refused([](Plan&, List& turns) { ++turns[0].give.count; }, "turns do not lie side by side");
  refused([](Plan&, List& turns) { --turns[0].take.count, --turns[1].take.first, ++turns[1].take.count; },
          "begins a take, which waits for nothing");
  refused([](Plan&, List& turns) { turns[1].take.count += 100; }, "turns end after the step");
  refused([](Plan&, List& turns) { turns.pop_back(); }, "turns do not lie side by side");
  refused([](Plan& p, List&) { server(p).threads = 2; }, "a server uses several threads or queues");
  refused(
      [](Plan& p, List& turns) {  // a worker's results would overlap with a turn's values
        PlanClass& c = server(p);
        c.buffers[c.operands[first(p, turns[0].give, Opcode::receive).outputs.first]].space = Buffer::Space::step;
      },
      "is used in several turns, or in a turn and outside, but is not kept");
  refused(
      [](Plan& p, List& turns) {  // both workers are sent the same copy
        PlanClass& c = server(p);
        const std::uint32_t same = c.operands[first(p, turns[0].give, Opcode::copy).outputs.first];
        c.operands[first(p, turns[1].give, Opcode::copy).outputs.first] = same;
        c.operands[first(p, turns[1].give, Opcode::send).inputs.first] = same;
        c.operands[first(p, turns[1].take, Opcode::send_wait).inputs.first] = same;
      },
      "'weights' (%2) is changed in turns of several workers");
  refused(
      [](Plan& p, List& turns) {  // the variable itself is sent
        PlanClass& c = server(p);
        const std::uint32_t variable = c.operands[first(p, turns[0].give, Opcode::copy).inputs.first];
        c.operands[first(p, turns[0].give, Opcode::send).inputs.first] = variable;
        c.operands[first(p, turns[0].take, Opcode::send_wait).inputs.first] = variable;
      },
      "a message of a turn uses the variable 'weights'");
  refused([](Plan& p, List& turns) { first(p, turns[0].give, Opcode::receive).what = Opcode::copy; },
          "the operands of a copy do not fit");
  refused(
      [](Plan& p, List& turns) {  // the server waits in a give
        std::swap(first(p, turns[1].give, Opcode::receive), first(p, turns[0].take, Opcode::receive_wait));
      },
      "is not where a server starts its messages, in a give, or waits for them, in a take");
  refused([](Plan& p, List& turns) { assignment(p, turns[1].take).attrs = kNone; },
          "sets a variable in a turn, but is not asynchronous");
  refused(
      [](Plan& p, List& turns) {  // a kernel writes into the variable, and nothing limits its staleness
        PlanClass& c = server(p);
        const std::uint32_t variable = c.operands[assignment(p, turns[1].take).outputs.first];
        c.operands[first(p, turns[1].take, Opcode::kernel).outputs.first] = variable;
      },
      "sets a variable in a turn, but is no assignment");
  refused(
      [](Plan& p, List& turns) {  // the fetch reads memory in which a worker's next part may arrive
        PlanClass& c = server(p);
        const Range& last = turns.back().take;
        const std::uint32_t after = c.regions[1].instructions.first + last.first + last.count;
        BufferId& read = c.operands[c.instructions[after].inputs[0]];
        const auto kept = std::ranges::find_if(
            c.instructions, [&](const Instruction& i) { return i.what == Opcode::copy && c.outputs(i)[0] == read; });
        REQUIRE(kept != c.instructions.end());
        read = c.operands[kept->inputs.first];
      },
      "is used outside of turns, and what a worker gives next may arrive in it");
}

}  // namespace
}  // namespace ferry
