#include "graph/graph.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "graph/op/core_ops.hpp"

namespace ferry {
namespace {

TEST_CASE("leaves have the types of their lists") {
  Graph g;
  CHECK(g.constant({1, 2, 3}).type().str() == "int32[3]");
  CHECK(g.constant({{1.5, 2.0}, {3.0, 4.0}}).type().str() == "float32[2,2]");
  CHECK(g.constant({true, false}).type().str() == "bool[2]");
  CHECK(g.input("x", DType::float64, {"batch", 3}).type().str() == "float64[batch,3]");
}

TEST_CASE("every op knows the line that made it") {
  Graph g;
  const int line = __LINE__ + 1;
  const Value a = g.constant({1, 2, 3});
  CHECK(a.op().line().line == line);
  CHECK(a.op().line().file.ends_with("graph_test.cpp"));
}

TEST_CASE("device scopes merge part by part, meshes give way to tasks") {
  Graph g;
  const MeshId mesh = g.mesh("dp");
  auto job = g.device("/job:ps/task:1");
  auto gpu = g.device("/gpu:0");
  CHECK(g.constant({1}).op().annotation().device.str() == "/job:ps/task:1/gpu:0");
  CHECK(g.constant({1}, on("/task:2")).op().annotation().device.str() == "/job:ps/task:2/gpu:0");
  auto all = g.on(mesh);
  CHECK(g.constant({1}).op().annotation().mesh == mesh);
  CHECK(g.constant({1}, on("/task:0")).op().annotation().mesh == kNoMesh);
}

TEST_CASE("names are unique, automatic ones count up") {
  Graph g;
  CHECK(g.constant({1}).name() == "constant");
  CHECK(g.constant({1}).name() == "constant_1");
  auto scope = g.name("layer");
  CHECK(g.constant({1}).named("w").name() == "layer/w");
  CHECK(g.value_named("layer/w") == 2);
  CHECK_THROWS_WITH_AS(g.constant({1}).named("w"), doctest::Contains("is taken by layer/w (Constant) at"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(g.value_named("layer/v")), doctest::Contains("did you mean 'layer/w'?"),
                       Error);
}

TEST_CASE("a variable is assigned its initial value by the entry init") {
  Graph g;
  const Value v = g.variable("v", g.constant({1.0, 2.0}));
  CHECK(v.type().str() == "float32[2]");
  const Entry& init = g.entries().at("init");
  REQUIRE(init.targets.size() == 1);
  CHECK(&g.op(init.targets[0]).def() == &kAssign);
  CHECK(g.variables() == std::vector<OpId>{v.op().id()});
}

TEST_CASE("attributes are the same only to the last byte and bit") {
  const auto same = [](AttrValue a, AttrValue b) {
    return Attrs{{"x", std::move(a)}}.same(Attrs{{"x", std::move(b)}});
  };
  const std::string text(200, 'a');
  CHECK(same(text, text));
  CHECK(!same(text + "b", text + "c"));
  CHECK(!same(0.0, -0.0));
  CHECK(same(std::nan("1"), std::nan("1")));
  CHECK(!same(Floats{1, std::nan("1")}, Floats{1, std::nan("2")}));
  CHECK(!same(std::int64_t{1}, 1.0));
}

TEST_CASE("a body that was built to see what it gives is taken back") {
  Graph g;
  const Value x = g.input("x", DType::float32, {3});
  Graph& probe = g.add_subgraph("probe");
  {
    const Scope here = g.build(probe);
    CHECK(probe.capture(x).type() == x.type());
  }
  g.drop_subgraph();
  CHECK(g.subgraphs() == 0);
  CHECK(g.size() == 1);
}

TEST_CASE("a subgraph captures values of its parents once") {
  Graph g;
  const Value outer = g.constant({1, 2});
  Graph& body = g.add_subgraph("body");
  const Value declared = body.parameter(outer.type(), SourceLine());
  const Value first = body.capture(outer);
  CHECK(body.capture(outer).is(first));
  CHECK(first.type() == outer.type());
  CHECK(body.captures().size() == 1);
  CHECK(body.captured_by(first.id()) == outer.id());
  CHECK(!body.captured_by(declared.id()));
  CHECK_THROWS_WITH_AS(g.capture(first), doctest::Contains("belongs to another graph"), Error);
}

TEST_CASE("a malformed device points at the place") {
  Graph g;
  CHECK_THROWS_WITH_AS(static_cast<void>(g.device("/task:1/gpx:0")),
                       doctest::Contains("\n  /task:1/gpx:0\n          ^\n"), Error);
  CHECK(DeviceSpec::parse("/job:ps/task:0/gpu:1").str() == "/job:ps/task:0/gpu:1");
  CHECK(DeviceSpec::parse("/task:*").all_tasks());
}

TEST_CASE("a mesh has distinct axes, one of them open at most") {
  Graph g;
  CHECK_THROWS_WITH_AS(g.mesh({{"dp", 2}, {"dp", 2}}), doctest::Contains("the axis 'dp' is named twice"), Error);
  CHECK_THROWS_AS(g.mesh({{"dp", Mesh::kOpen}, {"tp", Mesh::kOpen}}), Error);
  CHECK(g.mesh("dp") == g.mesh("dp"));
}

}  // namespace
}  // namespace ferry
