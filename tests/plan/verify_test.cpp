// The verifier must refuse the plans of a broken pass: a good plan is changed in one place, and the reason for the
// refusal must name the fault.
#include "plan/verify/verify.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "graph/op/core_ops.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_graph.hpp"

namespace ferry {
namespace {

/// A plan with channels both ways, a collective and a variable.
Plan good_plan() {
  Graph g;
  const MeshId dp = g.mesh("dp");
  Value loss, there, back;
  {
    auto all = g.on(dp);
    const Value w = g.variable("w", g.constant(Tensor(DType::float32, {4, 2})));
    const Value x = g.constant(Tensor(DType::float32, {6, 4})).laid({split(0)});
    loss = sum(matmul(x, w));
  }
  {
    auto here = g.device("/task:1");
    there = loss * 2.0;
  }
  {
    auto here = g.device("/task:0");
    back = there + 1.0;
  }
  {
    auto here = g.device("/task:1");
    there = back * there;
  }
  return test::planned(g, {there, back}, 2);
}

/// Two tasks that share memory: a value that task 0 makes only for task 1 is put, and a value that task 0 also reads is
/// not.
Plan sharing_plan() {
  Graph g;
  Value alone, also, here, there;
  {
    auto on = g.device("/task:0");
    const Value x = g.input("x", DType::float32, {2048});
    alone = -x;
    also = exp(x);
    here = (-also).named("here");
  }
  {
    auto on = g.device("/task:1");
    there = sum(alone * also);
  }
  Topology topology = Topology::local(2);
  for (TaskInfo& task : topology.tasks) task.memory_group = 0;
  return test::planned(g, {here, there}, topology, {}, {{0, {2048}}});
}

std::string reason_after(const std::function<void(Plan&)>& change) {
  Plan plan = good_plan();
  change(plan);
  const Verdict verdict = verify(plan);
  CHECK_FALSE(verdict.pass);
  return verdict.reason;
}

std::vector<Instruction*> all_of(PlanClass& c, Opcode what) {
  std::vector<Instruction*> found;
  for (Instruction& i : c.instructions)
    if (i.what == what) found.push_back(&i);
  return found;
}

/// Removes the first instruction of that kind from the class of `task`.
void drop(Plan& plan, int task, Opcode what) {
  PlanClass& c = plan.classes[plan.class_of[task]];
  const auto at =
      std::find_if(c.instructions.begin(), c.instructions.end(), [&](const Instruction& i) { return i.what == what; });
  test::erase_instruction(c, static_cast<std::size_t>(at - c.instructions.begin()));
}

TEST_CASE("puts are proved: the tasks share memory, and nobody else looks for the value") {
  Plan plan = sharing_plan();
  REQUIRE(verify(plan).pass);
  const auto put = [](const Channel& channel) { return channel.put; };
  REQUIRE(std::ranges::count_if(plan.channels, put) == 1);
  const auto refused = [&](const std::function<void(Plan&)>& change) {
    Plan changed = plan;
    change(changed);
    return verify(changed).reason;
  };
  CHECK(refused([](Plan& p) { p.topology.tasks[1].memory_group = 1; }).find("share no memory") != std::string::npos);
  CHECK(refused([](Plan& p) {
          p.topology.tasks[0].memory_group = p.topology.tasks[1].memory_group = -1;
        }).find("share no memory") != std::string::npos);
  CHECK(refused([&](Plan& p) { std::ranges::find_if_not(p.channels, put)->put = true; }).find("it is put, and") !=
        std::string::npos);
  CHECK(refused([&](Plan& p) {  // the kernel of `here` reads the put value
          PlanClass& c = p.classes[p.class_of[0]];
          const auto sends = [&](const Instruction& i) {
            return i.what == Opcode::send && p.channels[i.channel()].put;
          };
          const auto negates = [&](const Instruction& i) {
            return p.string(i.op) == "Neg" && p.string(i.name) == "here";
          };
          const auto send = std::ranges::find_if(c.instructions, sends);
          const auto kernel = std::ranges::find_if(c.instructions, negates);
          REQUIRE(kernel != c.instructions.end());
          c.operands[kernel->inputs.first] = c.operands[send->inputs.first];
        })
            .find("it is put, and others touch it") != std::string::npos);
}

TEST_CASE("a good plan passes and says what was proved") {
  const Verdict verdict = verify(good_plan());
  CHECK(verdict.pass);
  CHECK(verdict.proved.size() == 9);
}

TEST_CASE("of an op that is not known it says that nothing was proved") {
  Graph g;
  const Value x = g.constant({1.0, 2.0});
  Plan plan = test::planned(g, {x + x}, 1);
  CHECK(verify(plan).unproved.empty());
  const auto named = static_cast<std::uint32_t>(plan.strings.size());
  plan.strings.push_back("Nobodys");
  for (Instruction* i : all_of(plan.classes[0], Opcode::kernel)) i->op = named;
  const Verdict verdict = verify(plan);
  CHECK(verdict.pass);
  REQUIRE(verdict.unproved.size() == 1);
  CHECK(verdict.unproved[0].starts_with("the inputs and results of the kernels of Nobodys"));
  const auto said = [&](const std::string& fact) {
    return std::any_of(verdict.proved.begin(), verdict.proved.end(),
                       [&](const std::string& proved) { return proved.starts_with(fact); });
  };
  CHECK(said("every kernel of a known op has"));
  CHECK_FALSE(said("every kernel has"));
}

TEST_CASE("38: a send without a receive, and the reverse") {
  CHECK(reason_after([](Plan& p) {
          drop(p, 0, Opcode::receive), drop(p, 0, Opcode::receive_wait);
        }).find("a send without a receive") != std::string::npos);
  CHECK(reason_after([](Plan& p) {
          drop(p, 1, Opcode::send), drop(p, 1, Opcode::send_wait);
        }).find("a receive without a send") != std::string::npos);
}

TEST_CASE("39: two messages with one tag") {
  const std::string reason = reason_after([](Plan& p) {
    auto sends = all_of(p.classes[p.class_of[1]], Opcode::send);
    auto waits = all_of(p.classes[p.class_of[1]], Opcode::send_wait);
    REQUIRE(sends.size() == 2);
    sends[1]->target = sends[0]->target;
    waits[1]->target = waits[0]->target;
  });
  CHECK_MESSAGE(
      (reason.find("two messages with one tag") != std::string::npos || reason.find("without") != std::string::npos),
      reason);
}

TEST_CASE("a wait that is missing, early or for another buffer") {
  CHECK(reason_after([](Plan& p) { drop(p, 0, Opcode::receive_wait); }).find("waited for 0 times") !=
        std::string::npos);
  CHECK(reason_after([](Plan& p) { drop(p, 1, Opcode::send_wait); }).find("waited for 0 times") != std::string::npos);
  CHECK(reason_after([](Plan& p) {
          drop(p, 1, Opcode::collective_wait);
        }).find("task 1 does not start it once and wait for it once") != std::string::npos);
  CHECK(reason_after([](Plan& p) {
          PlanClass& c = p.classes[p.class_of[0]];
          std::swap(*all_of(c, Opcode::receive)[0], *all_of(c, Opcode::receive_wait)[0]);
        }).find("does not follow its start") != std::string::npos);
  CHECK(reason_after([](Plan& p) {
          PlanClass& c = p.classes[p.class_of[1]];
          std::swap(*all_of(c, Opcode::collective)[0], *all_of(c, Opcode::collective_wait)[0]);
        }).find("on task 1 the wait does not follow its start") != std::string::npos);
}

TEST_CASE("a condition that is still being received") {
  Graph g;
  Value happens;
  {
    auto here = g.device("/task:0");
    happens = less(g.constant(1.0), g.constant(2.0));
  }
  Value chosen;
  {
    auto here = g.device("/task:1");
    const Value x = g.constant(3.0);
    chosen = cond(
        happens, [&] { return Values{x * 2.0}; }, [&] { return Values{x * 4.0}; })[0];
  }
  Plan plan = test::planned(g, {chosen}, 2);
  REQUIRE(verify(plan).pass);
  PlanClass& c = plan.classes[plan.class_of[1]];
  Instruction& wait = *all_of(c, Opcode::receive_wait)[0];
  Instruction& branch = *all_of(c, Opcode::branch)[0];
  REQUIRE(&branch - &wait == 1);
  std::swap(wait, branch);
  const std::string reason = verify(plan).reason;
  CHECK_MESSAGE(reason.find("(less) while channel 0 (less)") != std::string::npos, reason);
}

TEST_CASE("sizes that differ at the two ends") {
  CHECK(reason_after([](Plan& p) { p.channels[0].bytes += 4; }).find("the channel has 8") != std::string::npos);
  CHECK(reason_after([](Plan& p) { p.channels[0].dtype = DType::int32; }).find("sent as float32") != std::string::npos);
}

TEST_CASE("a collective that a member never comes to, or comes to with other sizes") {
  CHECK(reason_after([](Plan& p) { drop(p, 1, Opcode::collective); }).find("task 1 never comes to it") !=
        std::string::npos);
  CHECK(reason_after([](Plan& p) { p.collectives[0].parts[0] += 1; }).find("the schedule wants") != std::string::npos);
}

TEST_CASE("41: an order in which two tasks wait for each other is printed as a circle") {
  const std::string reason = reason_after([](Plan& p) {
    // Task 1 waits for the answer before it sends the question.
    PlanClass& c = p.classes[p.class_of[1]];
    const auto index_of = [&](Opcode what, bool last) {
      std::size_t found = 0;
      for (std::size_t i = 0; i < c.instructions.size(); ++i)
        if (c.instructions[i].what == what && (last || found == 0)) found = i;
      return static_cast<std::ptrdiff_t>(found);
    };
    const std::ptrdiff_t send = index_of(Opcode::send, false), wait = index_of(Opcode::receive_wait, false);
    REQUIRE(send < wait);
    std::rotate(c.instructions.begin() + send, c.instructions.begin() + send + 1, c.instructions.begin() + wait + 1);
  });
  CHECK_MESSAGE(reason.find("the plan would deadlock:\n  task") != std::string::npos, reason);
  CHECK(reason.find("waits in receive_wait") != std::string::npos);
}

TEST_CASE("buffers that overlap, end outside of their arena or are read too early") {
  CHECK(reason_after([](Plan& p) {
          PlanClass& c = p.classes[p.class_of[1]];
          for (Buffer& b : c.buffers)
            if (b.space == Buffer::Space::step) b.offset = 0;
        }).find("buffer") != std::string::npos);
  CHECK(reason_after([](Plan& p) { p.classes[0].devices[0].step_bytes = 64; }).find("its arena has 64 bytes") !=
        std::string::npos);
  CHECK(reason_after([](Plan& p) { p.classes[0].buffers[0].offset += 4; }).find("misaligned") != std::string::npos);
  CHECK(reason_after([](Plan& p) {
          auto kernels = all_of(p.classes[p.class_of[1]], Opcode::kernel);
          std::swap(*kernels[kernels.size() - 1], *kernels[kernels.size() - 2]);
        }).find("which is not written yet or has been overwritten") != std::string::npos);
}

/// A bounded value that is split along dim 1 and gathered again.
Plan bounded_plan() {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value found = nonzero(g.input("x", DType::float32, {4, 2}));
  const Value cut = identity(found).laid({split(1)});
  return test::planned(g, {cut}, 2, {}, {{g.value_named("x"), {4, 2}}});
}

std::string reason_when_bounded(const std::function<void(Plan&, PlanClass&)>& change) {
  Plan plan = bounded_plan();
  const Verdict good = verify(plan);
  CHECK_MESSAGE(good.pass, good.reason);
  for (PlanClass& c : plan.classes) change(plan, c);
  return verify(plan).reason;
}

TEST_CASE("the extent of a bounded value is written by somebody") {
  const auto bound = [](PlanClass& c, Range range) {
    for (const std::uint32_t b : c.operands_of(range)) c.buffers[b].bounded = true;
  };
  const auto kernels = [](const Plan& plan, PlanClass& c, std::string_view op) {
    std::vector<Instruction*> found;
    for (Instruction& i : c.instructions)
      if (i.what == Opcode::kernel && plan.string(i.op) == op) found.push_back(&i);
    return found;
  };
  const std::string lost = "it moves elements and not their extent";
  SUBCASE("a gather does not bring it") {
    CHECK(reason_when_bounded([&](Plan& plan, PlanClass& c) {
            for (const Opcode what : {Opcode::collective, Opcode::collective_wait})
              for (const Instruction* i : all_of(c, what)) {
                if (plan.schedules[plan.collectives[i->collective()].schedule].kind == CollectiveKind::broadcast)
                  continue;
                bound(c, i->inputs);
                bound(c, i->outputs);
              }
          }).find(lost) != std::string::npos);
  }
  SUBCASE("nor do kernels that cut and join parts") {
    CHECK(reason_when_bounded([&](Plan& plan, PlanClass& c) {
            plan.strings.push_back("CutParts");
            for (Instruction* i : kernels(plan, c, "TakePart"))
              i->op = static_cast<std::uint32_t>(plan.strings.size() - 1);
          }).find(lost) != std::string::npos);
    CHECK(reason_when_bounded([&](Plan& plan, PlanClass& c) {
            for (Instruction* i : kernels(plan, c, "FillBound")) bound(c, i->outputs);
          }).find(lost) != std::string::npos);
  }
  SUBCASE("a part has one if the whole has one") {
    CHECK(reason_when_bounded([&](Plan& plan, PlanClass& c) {
            for (const Instruction* i : kernels(plan, c, "TakePart")) {
              const std::uint32_t part = storage_of(c, c.operands[i->outputs.first]);
              for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
                if (storage_of(c, b) == part) c.buffers[b].bounded = false;
            }
          }).find("it makes int64[8,2] of int64[<=8,2]") != std::string::npos);
  }
  SUBCASE("a feed that is not bounded has none, nor has a variable") {
    CHECK(reason_when_bounded([&](Plan&, PlanClass& c) {
            for (const Instruction* i : all_of(c, Opcode::feed)) bound(c, i->outputs);
          }).find("the caller's value is") != std::string::npos);
    CHECK(reason_after([](Plan& p) {
            for (PlanClass& c : p.classes)
              for (const PlanVariable& v : c.variables) c.buffers[v.buffer].bounded = true;
          }).find("nobody writes its extent") != std::string::npos);
  }
}

TEST_CASE("random changes of plans of random graphs never crash the verifier") {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const test::RandomGraph made = test::random_graph(seed, 20, 4);
    Plan plan = test::planned(*made.graph, made.fetches, 4, made.targets, test::feeds_of(made));
    PlanClass& c = plan.classes[seed % plan.classes.size()];
    if (c.instructions.size() < 2) continue;
    std::swap(c.instructions[seed % c.instructions.size()], c.instructions[(seed * 7 + 3) % c.instructions.size()]);
    refused += verify(plan).pass ? 0 : 1;
  }
  CHECK(refused > 100);
}

}  // namespace
}  // namespace ferry
