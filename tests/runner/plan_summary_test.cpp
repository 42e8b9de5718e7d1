#include "runner/command/plan_summary.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// A chain of ops over `tasks` tasks: each task does something else, and there is a message between two tasks each.
PlanResult chain(int tasks) {
  Graph g;
  Value x = g.constant({1.0, 2.0, 3.0}, on("/task:0")).named("start");
  for (int task = 1; task < tasks; ++task) {
    const auto there = g.device("/task:" + std::to_string(task));
    x = tanh(x);
  }
  return {test::planned(g, {x}, tasks), {}, {}};
}

AutoPlacement placement(int candidates) {
  AutoPlacement placement;
  for (int i = 0; i < candidates; ++i) placement.candidates.push_back({"mesh " + std::to_string(i), 1.0 + i});
  placement.taken = 0;
  placement.memory_bytes = placement.model_bytes = placement.bound_bytes = 1 << 20;
  placement.model_seconds = placement.bound_seconds = 1;
  return placement;
}

TEST_CASE("a summary has at most 30 lines, and counts the parts that it leaves out") {
  PlanResult result = chain(40);
  result.placement = placement(9);
  result.step = StepEstimate{0.002, 0.001, 0.0005, {}, {}};
  const std::string text = plan_summary(result, default_ops());
  CHECK(std::ranges::count(text, '\n') <= 30);
  CHECK(test::has(text, "estimated time of a step: 2.000 ms, computing 1.000 ms, messages 0.500 ms\n"));
  CHECK(test::has(text, "  instead of mesh 3: "));
  CHECK(test::has(text, "  and 5 more\nplan of 40 tasks"));
  CHECK(test::has(text, "and 35 more\nmessages, the largest first:\n"));
  CHECK(test::has(text, "  and 30 more\n"));
}

TEST_CASE("a message has its bytes once, and names stand in a column") {
  PlanResult result = chain(3);
  result.reasons = {
      {.subject = "start", .text = "transfer from a to b, 12 bytes: used by c", .line = {}, .transfer = true}};
  const std::string text = plan_summary(result, default_ops());
  CHECK(test::has(text, "      12 B  start   transfer from a to b: used by c"));
  CHECK(test::has(text, "      12 B  tanh    transfer from task 1 to task 2"));
}

}  // namespace
}  // namespace ferry
