#include "runner/report/placed_plan.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "runner/pictures/plan_drawing.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

using nlohmann::json;

/// Of each role of a reported plan: the tasks.
std::vector<std::string> roles(const json& plan) {
  std::vector<std::string> roles;
  for (const json& column : plan["columns"])
    if (column[0] >= 0 && column[2] == "") roles.push_back(column[1]);
  return roles;
}

TEST_CASE("the plan of a page has a column for each task, and the bytes of messages") {
  Graph g;
  const Value a = g.constant({1, 2, 3}, on("/task:0")).named("a"),
              b = g.constant({10, 20, 30}, on("/task:1")).named("b");
  const auto there = g.device("/task:2");
  const json plan = json::parse(placed_plan_json(test::planned(g, {(a + b).named("c")}, 3)));
  CHECK(roles(plan) == std::vector<std::string>{"task 0", "task 1", "task 2"});
  CHECK(plan["roles"] == 3);
  std::vector<int> messages;
  for (const json& arrow : plan["arrows"])
    if (arrow[2] == 1) messages.push_back(arrow[3]);
  CHECK(messages == std::vector<int>{12, 12, 12});
}

TEST_CASE("the plan of a page draws tasks that do the same once, and of many roles the first") {
  Graph g;
  {
    const auto all = g.on(g.mesh("dp"));
    const Value w = g.variable("w", g.constant(Tensor(DType::float32, {640, 2}))).laid({split(0)});
    const json plan = json::parse(placed_plan_json(test::planned(g, {}, 64, {assign(w, tanh(w))})));
    CHECK(roles(plan) == std::vector<std::string>{"tasks 0-63"});
  }
  Graph chain;
  Value x = chain.constant({1.0, 2.0, 3.0}, on("/task:0"));
  for (int task = 1; task < 24; ++task) {
    const auto there = chain.device("/task:" + std::to_string(task));
    x = tanh(x);
  }
  const json plan = json::parse(placed_plan_json(test::planned(chain, {x}, 24)));
  CHECK(roles(plan).size() == PlanDrawing::kMostRoles);
  CHECK(plan["roles"] == 24);
}

TEST_CASE("the plan of a page has folds by line of the program, and so large a plan nothing else") {
  Graph g;
  Value x = g.variable("w", g.constant(Tensor(DType::float32, {64, 2})));
  for (int i = 0; i < 200; ++i) x = sum(tanh(x) * x, {0}) + x;
  const Plan of = test::planned(g, {x}, 1);
  const json plan = json::parse(placed_plan_json(of));
  CHECK(plan["boxes"].size() > 200);
  CHECK(plan["folds"].size() < 50);
  std::set<int> folds;
  for (const json& box : plan["boxes"]) folds.insert(box[1].get<int>());
  CHECK(folds.size() == plan["folds"].size());

  const json large = json::parse(placed_plan_json(of, 100));
  CHECK(large["boxes"].size() == large["folds"].size());
  CHECK(large["folds"] == plan["folds"]);
  for (const json& arrow : large["arrows"]) CHECK(arrow[0] != arrow[1]);
}

}  // namespace
}  // namespace ferry
