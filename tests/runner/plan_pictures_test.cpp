#include "runner/pictures/plan_pictures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "runner/options/selection.hpp"
#include "runner/pictures/plan_layout.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

Plan three_machines() {
  Graph g;
  const Value a = g.constant({1, 2, 3}, on("/task:0")).named("a");
  const Value b = g.constant({10, 20, 30}, on("/task:1")).named("b\"quoted");
  const auto there = g.device("/task:2");
  return test::planned(g, {(a + b).named("c")}, 3);
}

std::string json_of(Plan plan) {
  return plan_json({std::move(plan), {}, {}});
}

TEST_CASE("a plan as JSON has all its parts") {
  const auto json = nlohmann::json::parse(json_of(three_machines()));
  CHECK(json["tasks"].size() == 3);
  CHECK(json["channels"].size() == 3);
  CHECK(json["channels"][0]["bytes"] == 12);
  CHECK(json["fetches"][0]["name"] == "c");
  CHECK(json["classes"].size() == 3);
  CHECK(json["classes"][2]["tasks"] == std::vector<int>{2});
  CHECK(json_of(three_machines()).find("\"op\": \"Add\"") != std::string::npos);
  CHECK_FALSE(json.contains("bucket_bytes"));
  Plan plan = three_machines();
  plan.bucket_bytes = 4096;
  CHECK(nlohmann::json::parse(json_of(plan))["bucket_bytes"] == 4096);
}

TEST_CASE("a plan as a drawing has a box for each task and an edge for each message") {
  const std::string dot = plan_dot(three_machines());
  for (const char* part : {"subgraph cluster_0", "subgraph cluster_1", "subgraph cluster_2", "label=\"c = Add\"",
                           "label=\"b\\\"quoted = Constant\""})
    CHECK_MESSAGE(dot.find(part) != std::string::npos, part);
  std::size_t messages = 0;
  for (std::size_t at = dot.find("12 B"); at != std::string::npos; at = dot.find("12 B", at + 1)) ++messages;
  CHECK(messages == 3);
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("a drawing shows chains as one box, variables with their part, and a collective once for all its tasks") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {600, 2}))).laid({split(0)});
  const Value y = tanh(exp(-w)) * 2.0;
  const std::string dot = plan_dot(test::planned(g, {sum(y)}, 2, {assign(w, y)}));
  CHECK(count(dot, R"([label="Neg\nExp\nTanh\nMul", )") == 2);
  CHECK(count(dot, R"([label="w\n[300,2] of [600,2]", shape=cylinder, fillcolor="#fff3bf"])") == 2);
  CHECK(count(dot, R"([label="reduce, 4 B\nsum", shape=hexagon, style=filled, fillcolor="#ffc078"])") == 1);
  CHECK(count(dot, "style=dashed") == 2);
  CHECK(count(dot, "Constant") == 0);
}

TEST_CASE("a drawing leads all values of a bucket into its message and all sums out of it") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {8, 20}))).laid({split(0)});
  Values sums;
  for (const Value& value : {exp(x), tanh(x)}) sums.push_back(identity(sum(value, {0})).laid({replicated()}));
  for (Value& sum : sums) sum = -sum;
  const std::string dot = plan_dot(test::planned(g, sums, 2));
  CHECK(count(dot, "all_reduce, 160 B") == 1);
  CHECK(count(dot, "-> c0_0 ") == 4);
  CHECK(count(dot, "c0_0 -> ") == 4);
}

TEST_CASE("a tile region is one box with all its kernels, and in JSON a region with slots") {
  Graph g;
  const Value x = g.constant(Tensor(DType::float32, {20000}));
  const Plan plan = test::planned(g, {(x * 2.0 + x).named("y")}, 1);
  CHECK(count(plan_dot(plan), R"([label="Constant\nMul\ny = Add", )") == 1);
  const auto json = nlohmann::json::parse(json_of(plan));
  CHECK(json["classes"][0]["regions"][2]["kind"] == "tile");
  CHECK(json["classes"][0]["regions"][2]["instructions"].size() == 2);
  CHECK(json_of(plan).find("\"tile_offset\": 0") != std::string::npos);
  CHECK(json_of(plan).find("\"do\": \"tiles\"") != std::string::npos);
}

TEST_CASE("of a large plan each line of the program is a box, and of many tasks a few are drawn") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  Value x = g.variable("w", g.constant(Tensor(DType::float32, {64, 2}))).laid({split(0)});
  for (int i = 0; i < 200; ++i) x = tanh(x) * x;
  const Value end = sum(x);
  const Plan plan = test::planned(g, {end}, 2);
  CHECK(count(plan_dot(plan, true), "Tanh") == 400);
  const std::string folded = plan_dot(plan);
  CHECK(count(folded, "Tanh") == 2);  // one box on each task
  CHECK(count(folded, R"(Mul x 200\nTanh x 200\nplan_pictures_test.cpp:)") == 2);
  CHECK(count(folded, "subgraph cluster_") == 2);

  CHECK(count(plan_dot(test::planned(g, {end}, 32)), "subgraph cluster_") < 8);
}

std::string svg_of(Plan plan, bool whole = false) {
  return plan_svg({std::move(plan), {}, {}}, "x.pb, on <some> tasks", whole);
}

TEST_CASE("a picture has a title, a legend, and the names that the user gave") {
  const std::string svg = svg_of(three_machines());
  for (const char* part : {">x.pb, on &lt;some> tasks</text>", "plan of 3 tasks in 3 classes", ">task 2</text>",
                           ">c = Add</text>", ">b\"quoted = Constant</text>", ">receive a</text>", ">fetch c</text>",
                           ">from task to task</text>", ">ops</text>"})
    CHECK_MESSAGE(test::has(svg, part), part);
  CHECK(count(svg, ">12 B</text>") == 3);
  CHECK(count(svg, ">variables</text>") == 0);  // the legend leaves out colours that the picture has not
}

TEST_CASE("a value without a name is called as it is fetched, and an op as its function") {
  Graph g;
  const Value a = g.constant({1.0, 2.0, 3.0}, on("/task:0"));
  const Value c = a + a;
  const auto layer = g.name("layer");
  Plan plan = test::planned(g, {c, exp(c)}, 1);
  name_fetches(plan, {"result", "layer/exp"});
  const std::string svg = svg_of(std::move(plan));
  CHECK(test::has(svg, ">result = Add</text>"));
  CHECK(test::has(svg, ">Exp in layer</text>"));
}

TEST_CASE("a picture draws tasks that do the same once, with their number") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {640, 2}))).laid({split(0)});
  const Plan plan = test::planned(g, {}, 8, {assign(w, tanh(w))});
  const std::string svg = svg_of(plan);
  CHECK(count(svg, ">tasks 0-7: each of 8</text>") == 1);
  CHECK(count(svg, ">Tanh</text>") == 1);
  CHECK(count(svg_of(plan, true), ">Tanh</text>") == 8);
}

/// Boxes that overlap, are outside of all frames, or are crossed by an arrow that only passes by.
std::size_t faults(const PlanLayout& layout) {
  std::size_t faults = 0;
  const auto left = [](const PlacedBox& box) { return box.middle.x - box.width / 2; };
  const auto top = [](const PlacedBox& box) { return box.middle.y - box.height / 2; };
  for (const PlacedBox& a : layout.boxes) {
    for (const PlacedBox& b : layout.boxes)
      faults += &a < &b && left(a) < left(b) + b.width && left(b) < left(a) + a.width && top(a) < top(b) + b.height &&
                top(b) < top(a) + a.height;
    faults += std::ranges::none_of(layout.frames, [&](const PlacedFrame& frame) {
      return left(a) >= frame.at.x && left(a) + a.width <= frame.at.x + frame.width && top(a) >= frame.at.y &&
             top(a) + a.height <= frame.at.y + frame.height;
    });
    for (const PlacedArrow& arrow : layout.arrows)
      for (std::size_t i = 1; !arrow.up && i + 2 < arrow.points.size(); i += 2)  // the parts beside boxes
        faults += arrow.points[i].x > left(a) && arrow.points[i].x < left(a) + a.width &&
                  arrow.points[i].y < top(a) + a.height && arrow.points[i + 1].y > top(a);
  }
  return faults;
}

TEST_CASE("boxes of a picture do not overlap, and arrows pass beside them") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  Value x = g.variable("x", g.constant(Tensor(DType::float32, {64, 2}))).laid({split(0)});
  const Value first = x;
  Values sums;
  for (int i = 0; i < 9; ++i) {
    sums.push_back(sum(x * first));
    x = tanh(x) * x + first;
  }
  const Plan plan = test::planned(g, sums, 2), machines = three_machines();
  for (const bool whole : {false, true})
    CHECK(faults(layout_of(ShownPlan(plan, whole ? DrawnTasks::all : DrawnTasks::roles, whole), 50)) == 0);
  CHECK(faults(layout_of(ShownPlan(machines, DrawnTasks::roles, false), 0)) == 0);
}

TEST_CASE("charts of pipelines are above the boxes: a row for each device, a box for each of its works") {
  PipelineChart chart;
  chart.title = "pipeline <of> 2 microbatches";
  chart.rows = {{"task 0", {{'F', 0, -1, 0, 10}, {'F', 1, -1, 10, 10}, {'B', 0, -1, 30, 10}}},
                {"task 1", {{'F', 0, 3, 10, 10}}}};
  chart.length = 40;
  CHECK(chart.waits(chart.rows[0]) == 25);
  CHECK(chart.rows[1].work[0].name() == "F0.3");
  PlanResult result{three_machines(), {}, {}};
  const std::string without = plan_svg(result, "x");
  result.pipelines = {chart, chart};
  const std::string svg = plan_svg(result, "x");
  CHECK(count(svg, "<title>F0</title>") == 2);
  CHECK(test::has(svg, "pipeline &lt;of> 2 microbatches"));
  CHECK(test::has(svg, "waits 75 %"));
  CHECK(test::has(svg, "width=\"1080\""));
  CHECK(count(without, "waits") == 0);
}

}  // namespace
}  // namespace ferry
