// Captured stretches: what the planner finds passes the verifier, which refuses stretches that could not be given to a
// device as one.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

const test::KernelsEverywhere kKernels;

/// A step with a value that comes in its middle, and a loop.
Plan planned() {
  Graph g;
  const Value x = g.input("x", DType::float32, {8}), y = g.input("y", DType::float32, {8});
  const Value a = (-x).named("a"), b = exp(a).named("b"), c = (b + y).named("c"), d = (-c).named("d");
  const Value e = exp(d).named("e");
  const Values last = while_loop(
      {e, g.constant(0)}, [](const Values& v) { return v[1] < 3; },
      [](const Values& v) {
        return Values{exp(-v[0]), v[1] + 1};
      });
  Signature signature;
  signature.feeds = {{x.id(), 0, {8}}, {y.id(), 0, {8}}};
  signature.fetches = {d.id(), last[0].id()};
  Topology topology = Topology::local(1);
  topology.tasks[0].gpus = 1;
  PlanOptions options;
  options.default_device = DeviceKind::gpu;
  options.check_passes = true;
  return make_plan(g, signature, topology, kKernels, options).plan;
}

PlanClass& role(Plan& plan) {
  return plan.classes[0];
}

/// The number of the kernel of that name.
std::uint32_t kernel(Plan& plan, std::string_view name) {
  const PlanClass& c = role(plan);
  for (std::uint32_t i = 0; i < c.instructions.size(); ++i)
    if (c.instructions[i].what == Opcode::kernel && plan.string(c.instructions[i].name) == name) return i;
  FAIL("there is no such kernel");
  return 0;
}

/// Makes the stretches those from the kernel `first` to the kernel `last`.
void capture(Plan& plan, std::string_view first, std::string_view last) {
  const std::uint32_t begin = kernel(plan, first);
  role(plan).stretches = {{begin, kernel(plan, last) - begin + 1}};
}

/// Lets an instruction wait for nothing but this.
void add_wait(Plan& plan, Instruction& i, Wait wait) {
  i.waits = {static_cast<std::uint32_t>(role(plan).waits.size()), 1};
  role(plan).waits.push_back(wait);
}

std::string refusal(const Plan& plan) {
  return verify(plan, {nullptr, &kKernels}).reason;
}

TEST_CASE("kernels that nothing separates are captured together, in the step and in a loop") {
  Plan plan = planned();
  const Verdict verdict = verify(plan, {nullptr, &kKernels});
  CHECK(verdict.reason == "");
  const PlanClass& c = role(plan);
  const auto captured = [&](std::uint32_t i) {
    for (const Range& stretch : c.stretches)
      if (i - stretch.first < stretch.count) return stretch.first;
    return kNone;
  };
  REQUIRE(captured(kernel(plan, "a")) != kNone);
  CHECK(captured(kernel(plan, "a")) == captured(kernel(plan, "b")));
  CHECK(captured(kernel(plan, "c")) != captured(kernel(plan, "b")));  // waits for y
  CHECK(captured(kernel(plan, "c")) == captured(kernel(plan, "d")));
  CHECK(captured(kernel(plan, "d")) == captured(kernel(plan, "e")));
  std::size_t in_bodies = 0;
  for (const Region& region : c.regions)
    if (region.kind == Region::Kind::body)
      for (const Range& stretch : c.stretches)
        in_bodies += stretch.first - region.instructions.first < region.instructions.count ? 1 : 0;
  CHECK(in_bodies == 1);
  bool says = false;
  for (const std::string& fact : verdict.proved)
    says = says || fact ==
                       "3 captured stretches: each is work of one queue; waits come only before it, and others wait "
                       "only for its end";
  CHECK(says);
}

TEST_CASE("a stretch that cannot be given as one is refused, with the op") {
  struct Flaw {
    const char* what;
    void (*plant)(Plan&);
    const char *op, *refused;
  };
  const Flaw flaws[] = {
      {"a wait in the middle",
       [](Plan& plan) {
         const Instruction& a = role(plan).instructions[kernel(plan, "a")];
         add_wait(plan, role(plan).instructions[kernel(plan, "b")], role(plan).waits[a.waits.first]);
       },
       "Exp 'b'", "waits in the middle of a captured stretch"},
      {"what is in the middle is waited for",
       [](Plan& plan) {
         PlanClass& c = role(plan);
         const std::uint16_t compute = c.instructions[kernel(plan, "a")].strand;
         const auto waits = [&](const Instruction& i) {
           return i.what == Opcode::copy && c.on_queue(i) && i.strand != compute && i.waits.count == 0;
         };
         const auto copy_out = std::find_if(c.instructions.begin() + kernel(plan, "e"), c.instructions.end(), waits);
         REQUIRE(copy_out != c.instructions.end());
         add_wait(plan, *copy_out, {compute, 1});
       },
       "Neg 'a'", "is in the middle of a captured stretch, and copy 'd'"},
      {"work of the host",
       [](Plan& plan) {
         const Range step = role(plan).regions[1].instructions;
         role(plan).stretches = {{step.first, 2}};
       },
       "feed 'x'", "is captured, but is no work of a device"},
      {"copies from the host",
       [](Plan& plan) {
         PlanClass& c = role(plan);
         std::uint32_t at = c.regions[1].instructions.first;
         while (!c.on_queue(c.instructions[at])) ++at;
         c.stretches = {{at, 2}};
       },
       "copy 'a'", "is captured, but is not on a compute queue"},
      {"a copy from the host on the compute queue",
       [](Plan& plan) {
         PlanClass& c = role(plan);
         const std::uint32_t a = kernel(plan, "a");
         REQUIRE(c.instructions[a - 1].what == Opcode::copy);
         c.instructions[a - 1].strand = c.instructions[a].strand;
         c.stretches = {{a - 1, 2}};
       },
       "copy 'a'", "is on another device"},
      {"work of two queues",
       [](Plan& plan) {
         PlanClass& c = role(plan);
         c.instructions[kernel(plan, "b")].strand = static_cast<std::uint16_t>(c.strands());
         c.queues.push_back(c.queues[0]);
         capture(plan, "a", "b");
       },
       "Exp 'b'", "is captured with work of another queue"},
      {"two stretches with one kernel",
       [](Plan& plan) {
         const std::uint32_t a = kernel(plan, "a");
         role(plan).stretches = {{a, 2}, {a + 1, 2}};
       },
       "Exp 'b'", "is in two captured stretches"},
      {"stretches in another order",
       [](Plan& plan) { std::swap(role(plan).stretches.front(), role(plan).stretches.back()); }, "Add 'c'",
       "begins a captured stretch that is not in the order of the list"},
      {"one kernel alone", [](Plan& plan) { capture(plan, "a", "a"); }, "Neg 'a'", "is captured alone"},
      {"none",
       [](Plan& plan) {
         role(plan).stretches = {{0, 0}};
       },
       "", "a stretch is out of range"},
      {"beyond the class",
       [](Plan& plan) {
         role(plan).stretches = {{static_cast<std::uint32_t>(role(plan).instructions.size()) - 1, 2}};
       },
       "", "a stretch is out of range"},
      {"over the end of a region",
       [](Plan& plan) {
         PlanClass& c = role(plan);
         Range &condition = c.regions[2].instructions, &body = c.regions[3].instructions;
         REQUIRE(c.regions[3].kind == Region::Kind::body);
         REQUIRE(condition.first + condition.count == body.first);
         ++condition.count;
         ++body.first;
         --body.count;
         c.stretches = {{body.first - 1, 2}};
       },
       "", "is captured with work of another region"},
      {"the setup",
       [](Plan& plan) {
         PlanClass& c = role(plan);
         const Range setup = c.regions[0].instructions;
         std::uint32_t first = kNone;
         for (std::uint32_t i = setup.first; i + 1 < setup.first + setup.count && first == kNone; ++i)
           if (c.on_queue(c.instructions[i]) && c.on_queue(c.instructions[i + 1])) first = i;
         REQUIRE(first != kNone);
         c.stretches = {{first, 2}};
       },
       "", "is captured, but runs once"}};
  for (const Flaw& flaw : flaws) {
    CAPTURE(std::string(flaw.what));
    Plan plan = planned();
    flaw.plant(plan);
    const std::string reason = refusal(plan);
    INFO(reason);
    CHECK(test::has(reason, flaw.op));
    CHECK(test::has(reason, flaw.refused));
  }
}

}  // namespace
}  // namespace ferry
