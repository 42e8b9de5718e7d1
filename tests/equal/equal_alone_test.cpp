// Compares a plan made by hand with a graph, linked without the planner's passes and without the verifier.
#include <doctest/doctest.h>

#include "kernels/traits.hpp"
#include "ops/math/math.hpp"
#include "plan/equal/equal.hpp"

namespace ferry {
namespace {

class NoKernels final : public KernelLookup {
 public:
  [[nodiscard]] const Kernel* find(std::string_view, DeviceKind) const override { return nullptr; }
};

/// c = a - b on one task.
struct Made {
  Graph graph;
  Signature signature;
  Plan plan;

  Made() {
    const Value a = graph.input("a", {2}), b = graph.input("b", {2}), c = a - b;
    signature.feeds = {{a.id(), 0, {2}}, {b.id(), 0, {2}}};
    signature.fetches = {c.id()};
    plan.topology.tasks.resize(1);
    plan.strings = {"a", "b", "sub", "Sub"};
    for (const std::uint32_t name : {0U, 1U})
      plan.feeds.push_back({.name = name, .task = 0, .dtype = DType::float32, .sizes = {2}});
    plan.fetches.push_back({.name = 2, .task = 0, .dtype = DType::float32, .sizes = {2}});
    PlanClass& role = plan.classes.emplace_back();
    role.devices = {{DeviceKind::cpu, 0, 192, 0}};
    for (std::uint32_t b = 0; b < 3; ++b) {
      Buffer& buffer = role.buffers.emplace_back();
      buffer.sizes = {2};
      buffer.bytes = 8;
      buffer.offset = 64U * b;
      buffer.name = b;
    }
    role.operands = {0, 1, 2, 0, 1};
    const auto add = [&](Opcode what, std::uint32_t target, Range inputs, Range outputs) {
      Instruction& i = role.instructions.emplace_back();
      i.what = what;
      i.target = target;
      i.inputs = inputs;
      i.outputs = outputs;
      return &i;
    };
    add(Opcode::feed, 0, {}, {0, 1});
    add(Opcode::feed, 1, {}, {1, 1});
    Instruction* const kernel = add(Opcode::kernel, kNone, {3, 2}, {2, 1});
    kernel->op = 3;
    kernel->name = 2;
    add(Opcode::fetch, 0, {2, 1}, {});
    role.regions = {{Region::Kind::setup, {0, 0}}, {Region::Kind::step, {0, 4}}};
    plan.class_of = {0};
  }
  [[nodiscard]] Equality compared() const { return compare(graph, signature, plan, {&kernels, {}}); }

  NoKernels kernels;
};

TEST_CASE("a plan made by hand is equal to its graph") {
  const Equality result = Made().compared();
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
}

TEST_CASE("a plan made by hand that subtracts the other way round is not") {
  Made made;
  std::swap(made.plan.classes[0].operands[3], made.plan.classes[0].operands[4]);
  CHECK(made.compared().verdict == Equality::Verdict::differs);
  std::swap(made.plan.classes[0].instructions[0].target, made.plan.classes[0].instructions[1].target);
  CHECK(made.compared().verdict == Equality::Verdict::equal);  // the feeds are exchanged, too: the same again
}

}  // namespace
}  // namespace ferry
