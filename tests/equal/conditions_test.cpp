// Plans in which one task takes another turn than the others: the condition of its loop or branch is another one,
// though it uses none of the results. In the bodies, the tasks exchange messages.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {
namespace {

/// Exchanges the inputs of the op on the task. Checks that it is there.
void exchange_inputs(Plan& plan, std::size_t task, std::string_view op) {
  PlanClass& c = plan.classes[plan.class_of[task]];
  int found = 0;
  for (const Instruction& i : c.instructions) {
    if (i.what != Opcode::kernel || plan.string(i.op) != op) continue;
    std::swap(c.operands[i.inputs[0]], c.operands[i.inputs[1]]);
    ++found;
  }
  REQUIRE(found == 1);
}

// ---- Conditions ----

/// On task 0: 2 x if `condition` is true, else x² + 1, with x² from task 1.
Values squared_elsewhere(Graph& g, const Value& condition, const Value& x) {
  return cond(
      condition,
      [&] {
        const auto here = g.device("/task:0");
        return Values{x * 2.0};
      },
      [&] {
        Value t;
        {
          const auto there = g.device("/task:1");
          t = x * x;
        }
        const auto here = g.device("/task:0");
        return Values{t + 1.0};
      });
}

/// A counter on all tasks.
struct Counted {
  explicit Counted(Graph& g) : all(g.mesh("all")) {
    const auto on = g.on(all);
    n = g.variable("n", g.constant(0.0)).laid({replicated()});
    next = assign_add(n, 1.0);
  }
  MeshId all;
  Value n, next;
};

struct Row {
  const char* name;
  Signature (*make)(Graph& g);
  int tasks;
  std::size_t task;  ///< the task with another condition
  const char* op;    ///< the op of the condition
  const char* branch;
  const char* difference;
};

// The task uses no result of the branch, but takes part in messages or collectives there.
const Row kRows[] = {
    {"messages in a branch",
     [](Graph& g) {
       const Counted counted(g);
       Value y, condition;
       {
         const auto on = g.on(counted.all);
         y = counted.n + 1.0;
         condition = less(counted.n, 2.0);
       }
       const Value r = squared_elsewhere(g, condition, y)[0];
       return signature_of(g, {r}, {counted.next});
     },
     2, 1, "Less", "cond", "Less(2, variable n), not Less(variable n, 2)"},
    {"collectives in a branch",
     [](Graph& g) {
       const auto on = g.on(g.mesh("all"));
       const Value x = identity(g.input("x", {6, 3})).laid({split(0)});
       const Value r = cond(
           greater(sum(x), 0.0), [&] { return Values{exp(sum(x))}; }, [&] { return Values{sum(x) * 2.0}; })[0];
       return signature_of(g, {r});
     },
     4, 2, "Greater", "cond", "Greater(0, Sum(x)), not Greater(Sum(x), 0)"},
    {"a branch in a loop",
     [](Graph& g) {
       const auto on = g.on(g.mesh("all"));
       const Value x = g.input("x", {4});
       const Values end = while_loop(
           {g.constant(0.0), identity(x)}, [](const Values& v) { return not_equal(v[0], 5.0); },
           [&](const Values& v) {
             const Value condition = less(v[0], 2.0);
             return Values{v[0] + 1.0, squared_elsewhere(g, condition, v[1])[0]};
           });
       return signature_of(g, {end[1]});
     },
     2, 1, "Less", "while/body/cond", "Less(2, value 0 in step/while), not Less(value 0 in step/while, 2)"},
    {"a branch in a branch",
     [](Graph& g) {
       const auto on = g.on(g.mesh("all"));
       const Value x = identity(g.input("x", DType::float32, {}));
       const Value r = cond(
           not_equal(x, 5.0), [&] { return squared_elsewhere(g, less(x, 2.0), x); }, [&] { return Values{-x}; })[0];
       return signature_of(g, {r});
     },
     2, 1, "Less", "cond/then/cond", "Less(2, x), not Less(x, 2)"},
};

TEST_CASE("another condition of a branch on one task is found, also if the task uses no result of the branch") {
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.name));
    Graph g;
    const Signature signature = row.make(g);
    Plan plan = plan_for(g, signature, Topology::local(row.tasks));
    const Equality right = compared(g, signature, plan);
    REQUIRE_MESSAGE(right.verdict == Equality::Verdict::equal, right.reason);
    exchange_inputs(plan, row.task, row.op);
    const Verdict verified = verify(plan);
    REQUIRE_MESSAGE(verified.pass, verified.reason);
    const Equality wrong = compared(g, signature, plan);
    CHECK(wrong.verdict == Equality::Verdict::differs);
    INFO(wrong.reason);
    CHECK(has(wrong.reason, "the condition of branch '" + std::string(row.branch) + "' at "));
    CHECK(has(wrong.reason, " on task " + std::to_string(row.task) + " is another value than in the graph"));
    CHECK(has(wrong.reason, row.difference));
  }
}

// ---- Ops that can fail ----

/// Moves the first instruction of region `from`, which has this op, to the end of what the step runs before the loop or
/// branch. Its output gets memory of its own.
void run_before(Plan& plan, std::string_view op, Opcode around) {
  PlanClass& c = plan.classes[0];
  const Range step = c.regions[1].instructions;
  const auto first = c.instructions.begin() + step.first;
  const auto owner = std::find_if(first, first + step.count, [&](const Instruction& i) { return i.what == around; });
  REQUIRE(owner != first + step.count);
  Range* inner = nullptr;
  for (const std::uint32_t region : {owner->region(), owner->other_region()}) {
    Range& instructions = c.regions[region].instructions;
    if (instructions.count == 0 || c.instructions[instructions.first].op == kNone) continue;
    if (plan.string(c.instructions[instructions.first].op) == op) inner = &instructions;
  }
  REQUIRE(inner != nullptr);
  const std::uint32_t place = inner->first;
  const auto moved = c.instructions.begin() + place;
  Buffer& output = c.buffers[c.operands[moved->outputs[0]]];
  output.offset = c.devices[0].step_bytes;
  c.devices[0].step_bytes += 64;
  for (Region& region : c.regions)
    if (region.instructions.first > step.first && region.instructions.first <= place) ++region.instructions.first;
  --inner->count;
  ++c.regions[1].instructions.count;
  std::rotate(owner, moved, moved + 1);
}

struct Moved {
  const char* name;
  Value (*make)(Graph& g);
  const char* op;
  Opcode around;
  const char* reason;  ///< nullptr: the op cannot fail
};

const Moved kMoved[] = {
    {"a division of integers",
     [](Graph& g) {
       const Value x = g.input("x", DType::int32, {}), y = g.input("y", DType::int32, {});
       return cond(
           y > 0, [&] { return Values{x / y}; }, [&] { return Values{x}; })[0];
     },
     "Div", Opcode::branch,
     "it can fail, and the plan runs it in \"step\", where the graph does not: the graph runs it in \"step/cond/0\""},
    {"a division of floating-point numbers",
     [](Graph& g) {
       const Value x = g.input("x", DType::float32, {}), y = g.input("y", DType::float32, {});
       return cond(
           y > 0, [&] { return Values{x / y}; }, [&] { return Values{x}; })[0];
     },
     "Div", Opcode::branch, nullptr},
    {"an index",
     [](Graph& g) {
       const Value x = g.input("x", {4, 2}), k = g.input("k", DType::int64, {1});
       return cond(
           sum(k) < 4, [&] { return Values{gather(x, k)}; }, [&] { return Values{slice(x, 0, 0, 1)}; })[0];
     },
     "Gather", Opcode::branch, "the graph runs it in \"step/cond/0\""},
    {"an index in a loop",
     [](Graph& g) {
       const Value x = g.input("x", {4, 2}), k = g.input("k", DType::int64, {1}), n = g.input("n", DType::float32, {});
       return while_loop(
           {n, g.input("start", {1, 2})}, [](const Values& v) { return less(v[0], 3.0); },
           [&](const Values& v) {
             const Value row = gather(x, k);
             return Values{v[0] + 1.0, v[1] + row};
           })[1];
     },
     "Gather", Opcode::loop, "the graph runs it in \"step/while/1\""},
};

TEST_CASE("an op that can fail runs only where the graph runs it") {
  for (const Moved& one : kMoved) {
    CAPTURE(std::string(one.name));
    Graph g;
    const Signature signature = signature_of(g, {one.make(g)});
    Plan plan = plan_for(g, signature, Topology::local(1));
    const Equality right = compared(g, signature, plan);
    REQUIRE_MESSAGE(right.verdict == Equality::Verdict::equal, right.reason);
    run_before(plan, one.op, one.around);
    const Verdict verified = verify(plan);
    REQUIRE_MESSAGE(verified.pass, verified.reason);
    const Equality moved = compared(g, signature, plan);
    INFO(moved.reason);
    CHECK(moved.verdict == (one.reason == nullptr ? Equality::Verdict::equal : Equality::Verdict::differs));
    if (one.reason != nullptr) CHECK(has(moved.reason, one.reason));
  }
}

TEST_CASE("a division of files that a branch reads stays in the branch") {
  Graph g;
  const Value x = g.input("x", DType::int32, {2});
  const Value r = cond(
      sum(x) > 0,
      [&] {
        const Value read = read_npy(g, "a.npy", DType::int32, {2});
        return Values{read * 2 / read_npy(g, "b.npy", DType::int32, {2})};
      },
      [&] { return Values{x}; })[0];
  const Signature signature = signature_of(g, {r});
  const Plan plan = plan_for(g, signature, Topology::local(1));
  const PlanClass& c = plan.classes[0];
  bool has_product = false;  // which cannot fail
  for (const Instruction& i : c.instructions_of(c.regions[0])) {
    CHECK(plan.string(i.op) != "Div");
    has_product = has_product || plan.string(i.op) == "Mul";
  }
  CHECK(has_product);
  const Equality result = compared(g, signature, plan);
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
}

}  // namespace
}  // namespace ferry::test
