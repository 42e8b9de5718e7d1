// Copies at the end of a loop's body that swap their buffers: the planner marks them, and the verifier refuses plans in
// which a swap would change a result.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "plan/text/plan_text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using Values = std::vector<Value>;

constexpr std::int64_t kElements = 2048;

/// A loop of three iterations that carries `start` and gives it to `body`.
Value looped(Graph& g, const Value& start, const std::function<Value(const Value&)>& body) {
  return while_loop(
      {g.constant(0.0), start}, [](const Values& c) { return less(c[0], 3.0); },
      [&](const Values& c) -> Values {
        return {c[0] + 1.0, body(c[1])};
      })[1];
}

Value numbers(Graph& g, std::int64_t elements) {
  return g.variable("x", g.constant(Tensor(DType::float32, {elements})));
}

std::vector<Instruction*> swaps_in(PlanClass& role) {
  std::vector<Instruction*> swaps;
  for (Instruction& i : role.instructions)
    if (i.swaps()) swaps.push_back(&i);
  return swaps;
}

std::size_t swaps_of(const std::function<Value(const Value&)>& body, std::int64_t elements = kElements) {
  Graph g;
  Plan plan = test::planned(g, {looped(g, numbers(g, elements), body)}, 1);
  REQUIRE(verify(plan).reason == "");
  return swaps_in(plan.classes[0]).size();
}

TEST_CASE("a loop swaps the large values that it carries") {
  CHECK(swaps_of([](const Value& x) { return x * x + 1.0; }) == 1);
  CHECK(swaps_of([](const Value& x) { return x * x + 1.0; }, 8) == 0);
  CHECK(swaps_of([](const Value& x) { return x; }) == 0);
}

TEST_CASE("only the inner one of two loops swaps") {
  Graph g;
  const auto outer = [&](const Value& x) { return looped(g, x * 2.0, [](const Value& y) { return y * y; }) + x; };
  Plan plan = test::planned(g, {looped(g, numbers(g, kElements), outer)}, 1);
  CHECK(verify(plan).reason == "");
  CHECK(swaps_in(plan.classes[0]).size() == 1);
}

TEST_CASE("a value that is made before the loop is copied") {
  Graph g;
  const Value x = numbers(g, kElements), y = exp(x);
  Plan plan = test::planned(g, {looped(g, x, [&](const Value&) { return y; }), y}, 1);
  CHECK(verify(plan).reason == "");
  CHECK(swaps_in(plan.classes[0]).empty());
}

TEST_CASE("values that change places are copied once, and then swapped") {
  Graph g;
  const Value x = numbers(g, kElements), y = exp(x);
  const Values ends = while_loop(
      {g.constant(0.0), x, y}, [](const Values& c) { return less(c[0], 3.0); },
      [](const Values& c) -> Values {
        return {c[0] + 1.0, c[2], c[1] + c[2]};
      });
  Plan plan = test::planned(g, {ends[1], ends[2]}, 1);
  CHECK(verify(plan).reason == "");
  CHECK(swaps_in(plan.classes[0]).size() == 2);
  CHECK(text_of(plan).find("swap (") != std::string::npos);
}

/// Why the plan of a loop is refused after `change` of its one swap.
std::string refused_after(const std::function<void(PlanClass&, Instruction&)>& change) {
  Graph g;
  const Value x = numbers(g, kElements);
  Plan plan = test::planned(g, {looped(g, x, [](const Value& y) { return exp(exp(y)); })}, 1);
  const std::vector<Instruction*> swaps = swaps_in(plan.classes[0]);
  REQUIRE(swaps.size() == 1);
  change(plan.classes[0], *swaps[0]);
  return verify(plan).reason;
}

/// The body of the plan's loop.
Range body_of(const PlanClass& role) {
  return std::ranges::find(role.regions, Region::Kind::body, &Region::kind)->instructions;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("swaps that would change a result are refused") {
  const std::string outside = refused_after([](PlanClass& role, Instruction&) {
    for (Instruction& i : role.instructions)
      if (i.what == Opcode::copy) i.other = Instruction::kSwap;
  });
  CHECK_MESSAGE(has(outside, "swap"), outside);

  const std::string bytes = refused_after([](PlanClass& role, Instruction& swap) {
    const std::uint32_t next = role.inputs(swap)[0];
    for (const std::uint32_t k : body_of(role))
      for (const std::uint32_t b : role.outputs(role.instructions[k]))
        if (b != next && b != role.outputs(swap)[0] && role.buffers[b].bytes == role.buffers[next].bytes)
          role.buffers[b].offset = role.buffers[next].offset;
  });
  CHECK_MESSAGE(has(bytes, "has bytes of buffer"), bytes);

  const std::string later = refused_after([](PlanClass& role, Instruction& swap) {
    const auto first = role.instructions.begin() + body_of(role).first;
    const auto at = role.instructions.begin() + (&swap - role.instructions.data());
    std::rotate(first, at, at + 1);
  });
  CHECK_MESSAGE(has(later, "after its swap"), later);

  const std::string read = refused_after([](PlanClass& role, Instruction& swap) {
    for (const Instruction& i : role.instructions)
      if (i.what == Opcode::fetch) role.operands[i.inputs.first] = role.inputs(swap)[0];
  });
  CHECK_MESSAGE(has(read, "has been overwritten"), read);

  const std::string smaller = refused_after(
      [](PlanClass& role, Instruction& swap) { role.operands[swap.inputs.first] = role.outputs(swap)[0]; });
  CHECK_MESSAGE(has(smaller, "cannot swap"), smaller);
}

}  // namespace
}  // namespace ferry
