// Plans in which one task takes another turn than the others: the condition of its loop or branch is another one,
// though it uses none of the results. In the bodies, the tasks exchange messages.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
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
    CAPTURE(row.name);
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

}  // namespace
}  // namespace ferry::test
