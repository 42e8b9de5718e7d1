// Tests budgets: the counts, the refusals, and the changes from plan to plan.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "plan/text/plan_diff.hpp"
#include "plan/traffic/costs.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// On three tasks: a and b go to task 2, their sum to task 0.
struct Given {
  Given() {
    {
      const Scope here = graph.device("/task:0");
      a = graph.variable("a", graph.constant(Tensor(DType::float32, {100})));
    }
    {
      const Scope here = graph.device("/task:1");
      b = graph.variable("b", graph.constant(Tensor(DType::float32, {1000})));
    }
    const Scope here = graph.device("/task:2");
    total = sum(a) + sum(b);
  }
  [[nodiscard]] Plan plan() const { return test::planned(graph, {total}, 3); }

  Graph graph;
  Value a, b, total;
};

TEST_CASE("a budget that is just enough does, and one less does not") {
  Given given;
  const Plan plan = given.plan();
  std::int64_t messages = 0, bytes = 0;
  for (const MessageCost& cost : message_costs(plan)) {
    messages += cost.messages;
    bytes += cost.bytes;
  }
  CHECK(messages == 3);
  CHECK(bytes == 400 + 4000 + 4);
  std::int64_t memory = 0;
  for (const PlanClass& role : plan.classes) memory = std::max(memory, static_cast<std::int64_t>(memory_of(role)));
  given.graph.budget({.bytes = bytes, .messages = messages, .memory = memory});
  CHECK_NOTHROW(static_cast<void>(given.plan()));
  for (const Budget& less : {Budget{.bytes = bytes - 1}, Budget{.messages = messages - 1}, Budget{.memory = memory - 1},
                             Budget{.messages = 0}}) {
    given.graph.budget(less);
    CHECK_THROWS_AS(static_cast<void>(given.plan()), Error);
  }
}

TEST_CASE("the refusal names cost, budget, the dearest lines and what would do") {
  Given given;
  given.graph.budget({.bytes = 1000});
  const std::string text = test::error_of([&] { static_cast<void>(given.plan()); }).text();
  CAPTURE(text);
  CHECK(text.find("a step sends 4.3 KiB (4404 bytes); its budget is 1000 bytes, and \"b\" goes over it\n  at ") == 0);
  CHECK(text.find("3.9 KiB (4000 bytes): \"b\" at ") != std::string::npos);
  CHECK(text.find("--budget bytes=4404, the smallest that would do") != std::string::npos);
  given.graph.budget({.memory = 100});
  const std::string memory = test::error_of([&] { static_cast<void>(given.plan()); }).text();
  CAPTURE(memory);
  CHECK(memory.find("'b' float32[1000]: 3.9 KiB") != std::string::npos);
}

TEST_CASE("no budget holds for giving variables their first values") {
  Given given;
  given.graph.budget({.messages = 0});
  Signature signature;
  signature.fetches = {given.total.id()};
  signature.initial = true;
  CHECK_NOTHROW(static_cast<void>(test::made(given.graph, signature, Topology::local(3))));
}

TEST_CASE("a budget is not negative") {
  Graph graph;
  CHECK_THROWS_AS(graph.budget({.bytes = -1}), Error);
}

TEST_CASE("the difference of plans names what moved, by line") {
  Given given;
  const Plan before = given.plan();
  CHECK(diff(before, given.plan()).empty());
  CHECK(diff(before, given.plan()).text() == "no difference\n");
  given.graph.annotate(given.total.op().id(), Annotation{DeviceSpec::parse("/task:0"), kNoMesh, {}});
  const PlanDiff changes = diff(before, given.plan());
  CHECK(changes.messages.before == 3);
  CHECK(changes.messages.after == 4);
  REQUIRE(changes.ops.size() == 1);
  CHECK(changes.ops[0].name == given.total.name());
  CHECK(changes.ops[0].before == "/task:2/cpu:0");
  CHECK(changes.ops[0].after == "/task:0/cpu:0");
  const std::string text = changes.text();
  CHECK_MESSAGE(text.find("messages a step 3 -> 4\n") == 0, text);
}

TEST_CASE("the difference of plans for other numbers of tasks says so") {
  Graph graph;
  const Scope all = graph.on(graph.mesh("dp"));
  const Value x = graph.variable("x", graph.constant(Tensor(DType::float32, {8, 4}))).laid({split(0)});
  const Value y = exp(x).named("y");
  const PlanDiff changes = diff(test::planned(graph, {y}, 2), test::planned(graph, {y}, 4));
  CHECK(changes.tasks.before == 2);
  CHECK(changes.tasks.after == 4);
  REQUIRE(!changes.ops.empty());
  CHECK(changes.ops[0].before == "/task:[0-1]/cpu:0, dim 0 split over 2 tasks");
  CHECK(changes.ops[0].after == "/task:[0-3]/cpu:0, dim 0 split over 4 tasks");
}

}  // namespace
}  // namespace ferry
