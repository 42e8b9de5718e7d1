// The verifier refuses kernels with inputs, outputs or attributes that do not fit their ops, and kernels that write
// where they must not.
#include <doctest/doctest.h>

#include <functional>

#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using test::has;

/// A plan for two tasks with a split variable, a transposed value and a loop.
Plan good_plan() {
  Graph g;
  const MeshId dp = g.mesh("dp");
  Value fetched, update;
  {
    auto all = g.on(dp);
    const Value x = g.constant(Tensor(DType::float32, {6, 4})).laid({split(0)});
    const Value w = g.variable("w", g.constant(Tensor(DType::float32, {6, 4}))).laid({split(0)});
    update = assign(w, matmul(x * w, g.constant(Tensor(DType::float32, {4, 4}))));
    fetched = sum(transpose(w + x), {1});
  }
  auto here = g.device("/task:0");
  fetched = while_loop(
      {fetched, g.constant(0.0)}, [](const Values& c) { return less(c[1], 3.0); },
      [](const Values& c) {
        return Values{-c[0], c[1] + 1.0};
      })[0];
  return test::planned(g, {fetched}, 2, {update});
}

/// Why the plan is refused after `change` of each kernel of `op` on task 0 (or of each instruction of the kind `op`).
std::string refusal(std::string_view op, const std::function<void(Plan&, PlanClass&, Instruction&)>& change) {
  Plan plan = good_plan();
  const test::AllKernels kernels;
  REQUIRE(verify(plan, {nullptr, &kernels}).pass);
  PlanClass& c = plan.classes[plan.class_of[0]];
  for (std::size_t k = c.instructions.size(); k > 0; --k) {  // backwards: a change may insert before it
    Instruction& i = c.instructions[k - 1];
    if ((i.what == Opcode::kernel && plan.string(i.op) == op) || (i.what != Opcode::kernel && name_of(i.what) == op))
      change(plan, c, i);
  }
  return verify(plan, {nullptr, &kernels}).reason;
}

Buffer& input(PlanClass& c, const Instruction& i, std::uint32_t k = 0) {
  return c.buffers[c.inputs(i)[k]];
}
Buffer& output(PlanClass& c, const Instruction& i) {
  return c.buffers[c.outputs(i)[0]];
}

TEST_CASE("attributes that do not fit a kernel's inputs are refused") {
  const std::string axis =
      refusal("Sum", [](Plan& plan, PlanClass&, Instruction& i) { plan.attrs[i.attrs].set("axes", Ints{5}); });
  CHECK_MESSAGE(has(axis, "axis 5 is out of range"), axis);
  CHECK_MESSAGE(has(axis, ".cpp:"), axis);
  CHECK(has(refusal("Transpose",
                    [](Plan& plan, PlanClass&, Instruction& i) {
                      plan.attrs[i.attrs].set("perm", Ints{0, 0});
                    }),
            "Transpose"));
  CHECK(has(refusal("Sum", [](Plan&, PlanClass&, Instruction& i) { i.attrs = kNone; }), "attribute 'axes' is missing"));
}

TEST_CASE("what is put back into a slice must be as large as the slice") {
  Graph g;
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {6})));
  const Value loss = sum(square(slice(x, 0, 0, 6, 2)));
  Plan plan = test::planned(g, {gradients(loss, {x})[0]}, 1);
  const test::AllKernels kernels;
  REQUIRE(verify(plan, {nullptr, &kernels}).pass);
  for (const Instruction& i : plan.classes[0].instructions)
    if (i.what == Opcode::kernel && plan.string(i.op) == "Unslice") plan.attrs[i.attrs].set("step", Ints{3});
  const std::string reason = verify(plan, {nullptr, &kernels}).reason;
  CHECK_MESSAGE(has(reason, "input 0 is [3], the slice of [6] is [2]"), reason);
}

TEST_CASE("a kernel's output of another dtype or shape than its op gives is refused") {
  CHECK(has(refusal("Less", [](Plan&, PlanClass& c, Instruction& i) { output(c, i).dtype = DType::uint8; }),
            "its op gives bool[]"));
  CHECK(has(refusal("Sum",
                    [](Plan&, PlanClass& c, Instruction& i) {
                      output(c, i).sizes = {2, 2};
                    }),
            "is float32[2,2] in the plan, its op gives float32[4]"));
}

TEST_CASE("another op with other inputs is refused") {
  const std::string why = refusal("Neg", [](Plan& plan, PlanClass&, Instruction& i) {
    i.op = static_cast<std::uint32_t>(plan.strings.size());
    plan.strings.push_back("MatMul");
  });
  CHECK_MESSAGE(has(why, "takes 2 inputs, 1 are given"), why);
  CHECK(has(refusal("Neg",
                    [](Plan& plan, PlanClass&, Instruction& i) {
                      i.op = static_cast<std::uint32_t>(plan.strings.size());
                      plan.strings.push_back("While");
                    }),
            "it is no kernel"));
}

TEST_CASE("values that are split otherwise than the op's index notation wants are refused") {
  CHECK(has(refusal("Mul",
                    [](Plan& plan, PlanClass& c, Instruction& i) {
                      Window along{{6, 4}, {{1, plan.windows[output(c, i).window].splits[0].grouping}}};
                      output(c, i).window = static_cast<std::uint32_t>(plan.windows.size());
                      output(c, i).sizes = {6, 2};
                      plan.windows.push_back(along);
                    }),
            "is split otherwise"));
}

TEST_CASE("parts of a reshaped dim that are not the parts of the dim that it is made of are refused") {
  for (const std::int64_t rows : {3, 12}) {  // of 6 rows in two parts, only 12 rows have the same two parts
    CAPTURE(rows);
    const std::string why = refusal("Transpose", [&](Plan& plan, PlanClass& c, Instruction& i) {
      i.op = static_cast<std::uint32_t>(plan.strings.size());
      plan.strings.push_back("Reshape");
      plan.attrs[i.attrs] = Attrs();
      plan.attrs[i.attrs].set("shape", Ints{rows, 24 / rows});
      Window of_rows{{rows, 24 / rows}, {{0, plan.windows[input(c, i).window].splits[0].grouping}}};
      output(c, i).window = static_cast<std::uint32_t>(plan.windows.size());
      output(c, i).sizes = {(rows + 1) / 2, 24 / rows};
      output(c, i).bytes = static_cast<std::uint64_t>((rows + 1) / 2 * (24 / rows)) * sizeof(float);
      plan.windows.push_back(of_rows);
    });
    const bool named = why.find("are not the parts of the dim of size 6 with the same letter") != std::string::npos;
    CHECK_MESSAGE(named == (rows == 3), why);
  }
}

/// Why the plan of a count over two tasks, times 4, is refused if its product is that op; "" if it is not.
std::string refusal_of_partial_sum(DType dtype, std::string_view op, Reduce reduce = Reduce::sum) {
  Graph g;
  const Value x = [&] {
    auto all = g.on(g.mesh("dp"));
    const Value rows = g.variable("x", g.constant(Tensor(dtype, {6}))).laid({split(0)});
    return sum(rows) * g.constant(4, dtype);
  }();
  Plan plan = test::planned(g, {x}, 2);
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions) {
      if (i.what != Opcode::kernel || plan.string(i.op) != "Mul") continue;
      i.op = static_cast<std::uint32_t>(plan.strings.size());
      plan.strings.push_back(std::string(op));
    }
  for (Collective& collective : plan.collectives) collective.reduce = reduce;
  return verify(plan).reason;
}

TEST_CASE("a partial sum that goes through an op which is not linear for its dtype is refused") {
  CHECK(refusal_of_partial_sum(DType::int32, "Mul") == "");
  CHECK(refusal_of_partial_sum(DType::float32, "Div") == "");
  for (const DType dtype : {DType::int32, DType::uint8}) {
    const std::string why = refusal_of_partial_sum(dtype, "Div");
    CHECK_MESSAGE(has(why, "the op is not linear in it for " + std::string(name_of(dtype))), why);
    CHECK_MESSAGE(has(why, ".cpp:"), why);
  }
  CHECK(has(refusal_of_partial_sum(DType::float32, "Maximum"), "the op is not linear in it for float32"));
  CHECK(has(refusal_of_partial_sum(DType::float32, "Add"), "counts once for each of them"));
  const std::string uncombined = refusal_of_partial_sum(DType::float32, "Mul", Reduce::max);
  CHECK_MESSAGE(has(uncombined, "nothing combines it"), uncombined);
}

TEST_CASE("a kernel that writes over inputs which are not its to write over is refused") {
  const std::string why = refusal("Neg", [](Plan&, PlanClass&, Instruction& i) { i.in_place = 1; });
  CHECK_MESSAGE(has(why, "its kernel does not write over"), why);
}

TEST_CASE("a kernel that reads an input without bytes is refused") {
  CHECK(has(refusal("Neg", [](Plan&, PlanClass& c, Instruction& i) { input(c, i).space = Buffer::Space::none; }),
            "has no bytes"));
}

TEST_CASE("an arena that is larger than what lies in it is refused") {
  CHECK(has(refusal("Neg", [](Plan&, PlanClass& c, Instruction&) { c.devices[0].step_bytes += kBufferAlign; }),
            "its buffers end at"));
}

TEST_CASE("more threads than a task can have are refused before memory is taken for them") {
  CHECK(has(refusal("Neg", [](Plan&, PlanClass& c, Instruction&) { c.threads = 1U << 30U; }),
            "a class has 1073741824 threads"));
}

TEST_CASE("a loop in which nothing changes its condition is refused") {
  const std::string why = refusal("loop", [](Plan& plan, PlanClass& c, Instruction& i) {
    Buffer go = input(c, i);
    go.space = Buffer::Space::state;
    go.offset = c.devices[go.device].state_bytes;
    c.devices[go.device].state_bytes += kBufferAlign;
    Instruction made;
    made.op = static_cast<std::uint32_t>(plan.strings.size());
    plan.strings.push_back("Constant");
    made.attrs = static_cast<std::uint32_t>(plan.attrs.size());
    plan.attrs.push_back({{"value", Tensor(DType::boolean, {})}});
    const auto operand = static_cast<std::uint32_t>(c.operands.size());
    c.operands.push_back(static_cast<std::uint32_t>(c.buffers.size()));
    c.buffers.push_back(go);
    made.outputs = i.inputs = {operand, 1};
    const std::uint32_t at = c.regions[0].instructions.first;
    ++c.regions[0].instructions.count;
    for (std::size_t r = 1; r < c.regions.size(); ++r)
      if (c.regions[r].instructions.first >= at) ++c.regions[r].instructions.first;
    c.instructions.insert(c.instructions.begin() + at, made);
  });
  CHECK_MESSAGE(has(why, "nothing in it changes its condition"), why);
}

TEST_CASE("a variable that is written twice in a step, or read behind its copy, is refused") {
  Graph g;
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {4})));
  const Value v = g.variable("v", g.constant(Tensor(DType::float32, {4})));
  const Value sum = w + v;
  Plan plan = test::planned(g, {sum}, 1, {assign(w, v), assign(v, w)});
  REQUIRE(verify(plan).pass);
  PlanClass& c = plan.classes[0];
  const Range step = c.regions[1].instructions;
  std::vector<std::uint32_t> copies;
  for (const std::uint32_t k : step) {
    const Instruction& i = c.instructions[k];
    if (i.what == Opcode::copy && output(c, i).space == Buffer::Space::state) copies.push_back(k);
  }
  REQUIRE(copies.size() == 2);
  SUBCASE("written twice") {
    c.operands[c.instructions[copies[1]].outputs[0]] = c.outputs(c.instructions[copies[0]])[0];
    CHECK(has(verify(plan).reason, "for the second time in a step"));
  }
  SUBCASE("read behind") {
    c.operands[c.instructions[copies[1]].inputs[0]] = c.outputs(c.instructions[copies[0]])[0];
    CHECK(has(verify(plan).reason, "has set it for the next step"));
  }
}

}  // namespace
}  // namespace ferry
