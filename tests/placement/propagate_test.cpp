// Layouts that propagate backwards: what an annotation asks of its op's inputs.
#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

Plan planned(const Graph& g, const std::vector<Value>& fetches, int tasks, const test::Feeds& feeds = {},
             const std::vector<Value>& targets = {}) {
  const Plan plan = test::planned(g, fetches, tasks, targets, feeds);
  require_verified(plan);
  return plan;
}

/// The sizes, as in "[2,3]", of what the kernel of this name makes on task 0; "not made" if task 0 runs no such kernel.
std::string made(const Plan& plan, std::string_view name) {
  const PlanClass& c = plan.class_for(0);
  for (const Instruction& i : c.instructions) {
    if (i.what != Opcode::kernel || plan.string(i.name) != name) continue;
    std::string sizes;
    for (std::int64_t size : c.buffers[c.outputs(i)[0]].sizes)
      sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    return "[" + sizes + "]";
  }
  return "not made";
}

/// The kinds of the plan's collectives, in order: "scatter broadcast".
std::string collectives(const Plan& plan) {
  std::string text;
  for (const Collective& collective : plan.collectives)
    text += (text.empty() ? "" : " ") + std::string(name_of(plan.schedules[collective.schedule].kind));
  return text;
}

TEST_CASE("ops compute only the part of their result that all users take") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {8, 3})));
  const Value a = tanh(w).named("a");
  const Value b = (a * 2.0).named("b");
  const Value c = identity(b).laid({split(0)});
  const Value loss = sum(c);
  SUBCASE("of a chain, all of it") {
    const Plan plan = planned(g, {loss}, 4);
    CHECK(made(plan, "a") == "[2,3]");
    CHECK(made(plan, "b") == "[2,3]");
    CHECK(collectives(plan) == "reduce");
  }
  SUBCASE("what a caller gets is whole, and what it is made from") {
    const Plan plan = planned(g, {loss, b}, 4);
    CHECK(made(plan, "a") == "[8,3]");
    CHECK(made(plan, "b") == "[8,3]");
  }
  SUBCASE("users that take it along different dims get it whole") {
    const Value columns = identity(b).laid({split(1)});
    const Plan plan = planned(g, {loss, sum(columns)}, 4);
    CHECK(made(plan, "b") == "[8,3]");
  }
  SUBCASE("an annotation of its own stands") {
    b.laid({replicated()});
    const Plan plan = planned(g, {loss}, 4);
    CHECK(made(plan, "b") == "[8,3]");
    CHECK(made(plan, "a") == "[8,3]");
  }
}

TEST_CASE("through a product an annotation reaches the factor that has the letter") {
  Graph g;
  const auto all = g.on(g.mesh("tp"));
  const Value x = tanh(g.variable("x", g.constant(Tensor(DType::float32, {6, 4})))).named("left");
  const Value w = tanh(g.variable("w", g.constant(Tensor(DType::float32, {4, 10})))).named("right");
  const Value y = matmul(x, w).laid({split(1)});
  const Plan plan = planned(g, {sum(y)}, 2);
  CHECK(made(plan, "left") == "[6,4]");
  CHECK(made(plan, "right") == "[4,5]");
}

TEST_CASE("a variable's first value is made in the parts in which the variable lies") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value v = g.variable("v", g.constant(Tensor(DType::float32, {8, 3}))).laid({split(0)});
  const Value first = normal(g, {8, 3}).named("first");
  const Plan plan = planned(g, {}, 4, {}, {assign(v, first)});
  CHECK(made(plan, "first") == "[2,3]");
}

TEST_CASE("a feed is scattered when all users take a part of it") {
  Graph g;
  Value x, labels, loss;
  {
    const auto all = g.on(g.mesh("dp"));
    x = g.input("x", DType::float32, {"batch", 5}).laid({split(0)});
    labels = g.input("labels", DType::float32, {"batch", 5});
    loss = sum(square(x - labels));
  }
  const Plan plan = planned(g, {loss}, 4, {{x.id(), {12, 5}}, {labels.id(), {12, 5}}});
  CHECK(collectives(plan) == "scatter scatter reduce");
}

TEST_CASE("with another user that wants all of it a feed is broadcast") {
  Graph g;
  Value x, table, loss;
  {
    const auto all = g.on(g.mesh("dp"));
    x = g.input("x", DType::float32, {12, 5}).laid({split(0)});
    table = g.input("table", DType::float32, {12, 5});
    loss = sum(x - table) + sum(matmul(x, transpose(table)));
  }
  const Plan plan = planned(g, {loss}, 4, {{x.id(), {12, 5}}, {table.id(), {12, 5}}});
  CHECK(collectives(plan).starts_with("scatter broadcast"));
}

TEST_CASE("on a mesh of two axes each goes its own way") {
  Graph g;
  const auto all = g.on(g.mesh({{"dp", 2}, {"tp", 2}}));
  const Value x = tanh(g.variable("x", g.constant(Tensor(DType::float32, {6, 4})))).named("left");
  const Value w = tanh(g.variable("w", g.constant(Tensor(DType::float32, {4, 10})))).named("right");
  const Value y = matmul(x, w).laid({split(0), split(1)});
  const Plan plan = planned(g, {sum(y)}, 4);
  CHECK(made(plan, "left") == "[3,4]");
  CHECK(made(plan, "right") == "[4,5]");
}

TEST_CASE("a feed goes to a mesh of two axes in parts: along the split axis first, then copied along the other") {
  Graph g;
  Value x, loss;
  {
    const auto all = g.on(g.mesh({{"dp", 2}, {"tp", 3}}));
    x = g.input("x", DType::float32, {12, 5}).laid({split(0), replicated()});
    loss = sum(x);
  }
  const Plan plan = planned(g, {loss}, 6, {{x.id(), {12, 5}}});
  REQUIRE(plan.collectives.size() == 3);
  CHECK(collectives(plan) == "scatter broadcast reduce");
  CHECK(plan.groupings[plan.collectives[0].grouping] == Grouping{{0, 3}});
  CHECK(plan.collectives[0].parts == std::vector<std::int64_t>{30, 30});
  CHECK(plan.groupings[plan.collectives[1].grouping] == Grouping{{0, 1, 2}, {3, 4, 5}});
  CHECK(plan.collectives[1].parts == std::vector<std::int64_t>{30});
}

TEST_CASE("a value split along two axes is gathered in rows, then at one task") {
  Graph g;
  Value x;
  {
    const auto all = g.on(g.mesh({{"a", 2}, {"b", 2}}));
    x = g.variable("x", g.constant(Tensor(DType::float32, {4, 6}))).laid({split(0), split(1)});
  }
  const Plan plan = planned(g, {x}, 4);
  CHECK(collectives(plan) == "gather gather");
  CHECK(plan.groupings[plan.collectives[0].grouping] == Grouping{{0, 1}, {2, 3}});
  CHECK(plan.groupings[plan.collectives[1].grouping] == Grouping{{0, 2}});
}

TEST_CASE("partial sums that are needed in parts and whole are joined once") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {4, 8}))).laid({split(1)});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {8, 4}))).laid({split(0)});
  const Value y = matmul(x, w);
  const Value part = identity(tanh(y)).laid({split(0)});
  const Value whole = identity(y).laid({replicated()});
  const Plan plan = planned(g, {sum(part), sum(whole)}, 2);
  CHECK(collectives(plan) == "reduce_scatter all_gather reduce");
}

}  // namespace
}  // namespace ferry
