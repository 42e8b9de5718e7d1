// Tests what fold, drop_identities, merge and send_parts make of a graph, beside tests/plans.
#include <doctest/doctest.h>

#include <string>

#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/control/control.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/op_set.hpp"
#include "placement/explain/explain.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

std::size_t kernels(const Plan& plan, std::string_view op) {
  std::size_t count = 0;
  for (const PlanClass& role : plan.classes)
    for (const Instruction& instruction : role.instructions)
      count += instruction.what == Opcode::kernel && plan.string(instruction.op) == op ? 1 : 0;
  return count;
}

TEST_CASE("equal ops are merged, also in the bodies of loops and branches") {
  Graph g;
  const Value x = g.variable("x", g.constant({1.0F, 2.0F}));
  const Values looped = while_loop(
      {x}, [](const Values& v) { return less(sum(v[0]), 30); },
      [](const Values& v) { return Values{exp(v[0]) * exp(v[0])}; });
  const Value chosen = cond(
      less(sum(x), 7), [&] { return Values{log(x) + log(x)}; }, [&] { return Values{sqrt(x) + sqrt(x)}; })[0];
  const Plan plan = test::planned(g, {looped[0], chosen, tanh(x) + tanh(x)}, 1);
  for (const std::string_view op : {"Exp", "Log", "Sqrt", "Tanh"}) CHECK_MESSAGE(kernels(plan, op) == 1, op);
}

TEST_CASE("random numbers are drawn by each op that draws") {
  Graph g;
  const Value a = uniform(g, {4}, 0, 1), b = uniform(g, {4}, 0, 1);
  CHECK(kernels(test::planned(g, {a - b}, 1), std::string(a.op().def().name)) == 2);
}

TEST_CASE("what is recomputed to save memory is not merged") {
  Graph g;
  const Value x = g.variable("x", g.constant({1.0F, 2.0F}));
  Value y;
  {
    const Scope part = g.remade();
    y = exp(tanh(x));
  }
  const Value loss = sum(y);
  CHECK(kernels(test::planned(g, {loss, gradients(loss, std::vector<Value>{x})[0]}, 1), "Tanh") == 2);
}

TEST_CASE("explain says what became of ops that are left out") {
  Graph g;
  const Value x = g.variable("x", g.constant({1.0F, 2.0F}));
  const Value first = exp(x).named("first"), second = exp(x * 1).named("second");
  PlanOptions options;
  options.reasons = true;
  Signature signature;
  signature.fetches = {(first + second).id()};
  const PlanResult result = make_plan(g, signature, Topology::local(1), test::AllKernels(), options);
  CHECK(explain(result, "second").find("computed once, with first at " + std::string(__FILE__)) != std::string::npos);
  CHECK(explain(result, "mul").find("left out: it has the value of x") != std::string::npos);
}

TEST_CASE("explain says where a part is cut, and what that saves") {
  Graph g;
  Value x, row, y;
  {
    const Scope there = g.device("/task:1");
    x = exp(g.variable("v", g.constant(Tensor(DType::float32, {16, 96})))).named("x");
  }
  {
    const Scope here = g.device("/task:0");
    row = slice(x, 0, 3, 4).named("row");
    y = exp(row);
  }
  PlanOptions options;
  options.reasons = true;
  Signature signature;
  signature.fetches = {y.id()};
  const PlanResult result = make_plan(g, signature, Topology::local(2), test::AllKernels(), options);
  CHECK(explain(result, "row").find("/task:1/cpu:0: where its input x is: 384 bytes travel, not 6144") !=
        std::string::npos);
  REQUIRE(result.plan.channels.size() == 1);
  CHECK(result.plan.channels[0].bytes == 384);
}

TEST_CASE("random graphs, whose results tests compare, have parts that are sent") {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const test::RandomGraph made = test::random_graph(seed, 60, 4);
    Signature signature;
    for (const Value& fetch : made.fetches) signature.fetches.push_back(fetch.id());
    for (const auto& [value, sizes] : test::feeds_of(made)) signature.feeds.push_back({value, 0, sizes});
    const auto after = [&](std::string_view pass) {
      return test::text_after(pass, *made.graph, signature, Topology::local(4));
    };
    changed += after("merge") == after("send_parts") ? 0 : 1;
  }
  CHECK(changed >= 10);
}

TEST_CASE("a broadcast that compares two extents is no identity") {
  Graph g;
  const Value x = nonzero(g.variable("x", g.constant({1.0F, 2.0F}))),
              y = nonzero(g.variable("y", g.constant({3.0F, 0.0F})));
  const Value seen = g.add(*default_ops().find("BroadcastLike"), std::vector<Value>{x, y}, {}, SourceLine())[0];
  CHECK(kernels(test::planned(g, {seen}, 1), "BroadcastLike") == 1);
}

TEST_CASE("a fetched value that is left out is fetched from what stands for it") {
  Graph g;
  const Value x = g.variable("x", g.constant({1.0F, 2.0F}));
  const Value a = exp(x), b = exp(x), c = b * 1.0;
  const Plan plan = test::planned(g, {a, b, c}, 2);
  CHECK(verify(plan).pass);
  CHECK(plan.fetches.size() == 3);
  CHECK(kernels(plan, "Exp") == 1);
  CHECK(kernels(plan, "Mul") == 0);
}

}  // namespace
}  // namespace ferry
