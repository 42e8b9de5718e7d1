#include "runner/pictures/plan_pictures.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/temp_folder.hpp"

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
  for (const char* part : {"subgraph cluster_0", "subgraph cluster_1", "subgraph cluster_2", "label=\"Add c\"",
                           "label=\"Constant b\\\"quoted\""})
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
  CHECK(count(dot, R"([label="Neg neg\nExp exp\nTanh tanh\nMul mul", )") == 2);
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
  CHECK(count(plan_dot(plan), R"([label="Constant constant\nMul mul\nAdd y", )") == 1);
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

/// For its life, `dot` is a shell script.
class DotIs {
 public:
  explicit DotIs(const std::string& script) : path_(std::getenv("PATH")) {
    std::ofstream(folder_ / "dot") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(folder_ / "dot", std::filesystem::perms::owner_all);
    setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
  }
  ~DotIs() { setenv("PATH", path_.c_str(), 1); }
  DotIs(const DotIs&) = delete;
  DotIs& operator=(const DotIs&) = delete;

 private:
  test::TempFolder folder_;
  std::string path_;
};

TEST_CASE("where graphviz cannot bend the arrows they are straight") {
  {
    const DotIs dot("cat > /dev/null; [ \"$*\" = '-Tsvg -Gsplines=line' ] && echo straight");
    CHECK(svg_of("digraph {}") == "straight\n");
  }
  const DotIs dot("cat > /dev/null; exit 1");
  CHECK_THROWS_WITH(static_cast<void>(svg_of("digraph {}")), doctest::Contains("--svg: dot failed"));
}

TEST_CASE("a pipeline's chart stands above the drawing: a row for each device, a box for each of its works") {
  PipelineChart chart;
  chart.title = "pipeline <of> 2 microbatches";
  chart.rows = {{"task 0", {{'F', 0, -1, 0, 10}, {'F', 1, -1, 10, 10}, {'B', 0, -1, 30, 10}}},
                {"task 1", {{'F', 0, 3, 10, 10}}}};
  chart.length = 40;
  CHECK(chart.waits(chart.rows[0]) == 25);
  CHECK(chart.rows[1].work[0].name() == "F0.3");
  const std::string svg = with_charts("<?xml?>\n<svg width=\"30pt\" height=\"60pt\"></svg>\n", {{chart, chart}});
  CHECK(count(svg, "<title>F0</title>") == 2);
  CHECK(count(svg, "<title>") == 8);
  CHECK(test::has(svg, "pipeline &lt;of> 2 microbatches"));
  CHECK(test::has(svg, "waits 75 %"));
  CHECK(test::has(svg, "height=\"269\""));  // two charts of 94 pixels, and 60 points
  CHECK(test::has(svg, "<svg y=\"188\" width=\"30pt\" height=\"60pt\">"));
  CHECK(count(svg, "<?xml") == 0);
  CHECK(with_charts("<svg/>", {}) == "<svg/>");
}

}  // namespace
}  // namespace ferry
