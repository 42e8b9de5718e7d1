#include "graph/file/graph_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/legality.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "tests/support/temp_folder.hpp"

using namespace ferry;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::unique_ptr<Graph> reload(const Graph& graph, GraphFormat format) {
  const GraphContent saved = encode_graph(graph, format);
  return decode_graph(bytes_of(saved.content), format, "memory", default_ops());
}

void same_op(const Op& a, const Op& b) {
  CHECK(&a.def() == &b.def());
  CHECK(a.name() == b.name());
  CHECK(std::ranges::equal(a.inputs(), b.inputs()));
  CHECK(std::ranges::equal(a.after(), b.after()));
  CHECK(a.attrs().same(b.attrs()));
  CHECK(a.annotation() == b.annotation());
  CHECK(a.line() == b.line());
  REQUIRE(a.outputs() == b.outputs());
  for (int i = 0; i < a.outputs(); ++i) CHECK(a.graph().type(a.output(i)) == b.graph().type(b.output(i)));
}

void same(const Graph& a, const Graph& b) {
  REQUIRE(a.size() == b.size());
  for (OpId id = 0; id < a.size(); ++id) same_op(a.op(id), b.op(id));
  CHECK(std::ranges::equal(a.parameters(), b.parameters()));
  CHECK(std::ranges::equal(a.captures(), b.captures()));
  CHECK(a.results() == b.results());
  REQUIRE(a.subgraphs() == b.subgraphs());
  for (std::uint32_t i = 0; i < a.subgraphs(); ++i) same(a.subgraph({i}), b.subgraph({i}));
}

/// Fills the graph with all that a graph file can hold.
void fill(Graph& g) {
  const MeshId mesh = g.mesh({{"dp", Mesh::kOpen}, {"tp", 2}}, "/job:worker/task:*");
  const Value x = g.input("x", DType::float32, {"batch", 4});
  const Value a = g.constant({1, 2, 3}, on("/task:0/cpu:0"));
  const Value w = g.variable("w", g.constant({{1.5F, -0.0F}, {NAN, 3e30F}}));
  Value sum;
  {
    const auto here = g.device("/job:ps/task:1");
    const auto named = g.name("layer");
    sum = (a + 2).named("né:1");
  }
  {
    const auto here = g.on(mesh);
    const Value laid = (x * x).laid({split(0), replicated()});
    const auto later = g.after(std::vector<Value>{sum, laid});
    g.fetch("predict", "y", exp(laid));
  }
  const Value looped = while_loop(
      {g.constant(0, DType::int32), a}, [&](const Values& v) { return less(v[0], 3); },
      [&](const Values& v) {
        return Values{v[0] + 1,
                      cond(
                          less(v[0], 1), [&] { return Values{v[1] + sum}; }, [&] { return Values{v[1] * 2}; })[0]};
      })[1];
  g.entry("train").feeds.push_back({"x", x.id()});
  g.fetch("train", "looped", looped);
  g.target("train", assign(w, w * 2));
}

}  // namespace

TEST_CASE("a graph comes back from both formats with all it holds") {
  Graph graph;
  fill(graph);
  for (GraphFormat format : {GraphFormat::binary, GraphFormat::text}) {
    const auto back = reload(graph, format);
    same(graph, *back);
    CHECK(std::ranges::equal(graph.meshes(), back->meshes()));
    REQUIRE(back->entries().size() == graph.entries().size());
    for (const auto& [name, entry] : graph.entries()) {
      const Entry& other = back->entries().at(name);
      CHECK(entry.targets == other.targets);
      REQUIRE(entry.feeds.size() == other.feeds.size());
      REQUIRE(entry.fetches.size() == other.fetches.size());
      for (std::size_t i = 0; i < entry.fetches.size(); ++i) {
        CHECK(entry.fetches[i].name == other.fetches[i].name);
        CHECK(entry.fetches[i].value == other.fetches[i].value);
      }
    }
    CHECK(encode_graph(*back, format).content == encode_graph(graph, format).content);
  }
}

TEST_CASE("a budget and what is recomputed come back; without them older ferries read the file") {
  Graph graph;
  const Value x = graph.constant({1, 2, 3});
  graph.fetch("run", "y", x + x);
  CHECK(encode_graph(graph, GraphFormat::text).content.find("version: 1\n") != std::string::npos);
  graph.budget({.bytes = 0, .memory = 1'000'000});
  graph.mark_recomputed(1);
  for (GraphFormat format : {GraphFormat::binary, GraphFormat::text}) {
    const auto back = reload(graph, format);
    CHECK(back->budget() == graph.budget());
    CHECK(back->op(1).recomputed());
    CHECK(!back->op(0).recomputed());
  }
  CHECK(encode_graph(graph, GraphFormat::text).content.find("version: 2\n") != std::string::npos);
}

TEST_CASE("that a graph is placed by itself comes back") {
  Graph graph;
  graph.constant({1, 2, 3});
  CHECK(!reload(graph, GraphFormat::binary)->is_auto_placed());
  graph.auto_place();
  for (GraphFormat format : {GraphFormat::binary, GraphFormat::text}) CHECK(reload(graph, format)->is_auto_placed());
  const std::string text = encode_graph(graph, GraphFormat::text).content;
  CHECK(text.find("version: 3\n") != std::string::npos);
}

TEST_CASE("large tensors lie beside the file, and must be those") {
  Graph graph;
  Tensor large(DType::float32, {600, 512});
  large.mutable_data<float>()[7] = 4;
  graph.constant(large);
  GraphContent saved = encode_graph(graph, GraphFormat::binary);
  CHECK(saved.content.size() < 1000);
  REQUIRE(saved.beside.size() == 1);
  const auto beside = [&](std::string_view name) {
    const auto found = saved.beside.find(name);
    return found == saved.beside.end() ? Tensor() : found->second;
  };
  const auto load = [&] {
    try {
      return decode_graph(bytes_of(saved.content), GraphFormat::binary, "m.pb", default_ops(), beside)
                     ->constant_value(0)
                     ->same_bits(large)
                 ? std::string("same")
                 : std::string("differs");
    } catch (const Error& error) {
      CHECK(error.code() == Code::file);
      return error.text();
    }
  };
  CHECK(load() == "same");
  Tensor& stored = saved.beside.begin()->second;
  stored = Tensor(DType::float32, {600, 512});
  CHECK(load().find("damaged, or belongs to another graph") != std::string::npos);
  stored = Tensor(DType::float32, {512, 600});
  CHECK(load().find("should be float32[600,512]") != std::string::npos);
  saved.beside.clear();
  CHECK(load().find("is not in the .safetensors file") != std::string::npos);
}

TEST_CASE("a file written by hand may leave out what can be inferred") {
  const std::string text = R"(
    version: 1
    graph {
      op { name: "c" op: "Add" input: "a" input: "b:0" device: "/task:2" }
      op { name: "a" op: "Constant" attr { name: "value" tensor { dtype: INT32 size: 3 ints { value: [1, 2, 3] } } } }
      op { name: "b" op: "Constant" attr { name: "value" tensor { dtype: INT32 size: 3 ints { value: [4, 5, 6] } } } }
    }
    entry { name: "predict" fetch { name: "c" value: "c" } })";
  const auto graph = decode_graph(bytes_of(text), GraphFormat::text, "add.pbtxt", default_ops());
  REQUIRE(graph->size() == 3);
  CHECK(graph->op(2).name() == "c");
  CHECK(graph->op(2).annotation().device.str() == "/task:2");
  CHECK(graph->type(2).str() == "int32[3]");
  CHECK(graph->constant_value(1)->str() == "[4 5 6]");
}

TEST_CASE("numbers written by hand may be NaN or infinite, and must fit the dtype") {
  const auto read = [](const std::string& dtype, const std::string& value) {
    const std::string text =
        "version: 1 graph { op { name: 'c' op: 'Constant' attr { name: 'value' tensor { dtype: " + dtype +
        " size: 1 floats { value: " + value + " } } } } }";
    return decode_graph(bytes_of(text), GraphFormat::text, "c.pbtxt", default_ops())->constant_value(0)->number(0);
  };
  for (const char* dtype : {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"}) {
    CHECK(std::isnan(read(dtype, "nan")));
    CHECK(read(dtype, "inf") == INFINITY);
    CHECK(read(dtype, "-inf") == -INFINITY);
  }
  CHECK_THROWS_WITH_AS(read("FLOAT16", "1e6"), doctest::Contains("the number 1e+06 is no float16"), Error);
  CHECK_THROWS_WITH_AS(read("INT32", "nan"), doctest::Contains("a tensor of int32 needs ints, not floats"), Error);
}

TEST_CASE("a graph is saved only when it is legal") {
  Graph graph;
  graph.constant({1}).named(std::string("a\0b", 3));
  CHECK_THROWS_WITH_AS(static_cast<void>(encode_graph(graph, GraphFormat::binary)), doctest::Contains("has a NUL"),
                       Error);
}

TEST_CASE("legality looks into annotations, bodies and entries") {
  const auto refusal = [](auto build) {
    Graph graph;
    const Value x = graph.input("x", DType::float32, {2, 2});
    build(graph, x);
    try {
      check_legal(graph);
    } catch (const Error& error) {
      CHECK(error.code() == Code::plan);
      return error.text();
    }
    return std::string("legal");
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(refusal([](Graph&, const Value&) {}) == "legal");
  CHECK(has(refusal([](Graph& g, const Value&) { g.annotate(0, {{}, kNoMesh, {{replicated()}}}); }), "on no mesh"));
  CHECK(has(refusal([](Graph& g, const Value&) { g.annotate(0, {{}, 3, {}}); }), "mesh is not there"));
  CHECK(has(refusal([](Graph& g, const Value&) { g.annotate(0, {{}, g.mesh("dp"), {{split(2)}}}); }), "splits dim 2"));
  CHECK(has(refusal([](Graph& g, const Value&) {
              g.annotate(0, {{}, g.mesh("dp"), {{partial(Reduce::none)}}});
            }),
            "what joins"));
  CHECK(has(refusal([](Graph& g, const Value& x) {
              g.add(kAssign, std::vector<Value>{x, x}, {}, {});
            }),
            "does not assign to a variable"));
  CHECK(has(refusal([](Graph& g, const Value& x) { g.entry("e").feeds.push_back({"f", (x + x).id()}); }), "no Input"));
  CHECK(has(refusal([](Graph& g, const Value& x) {
              g.fetch("e", "y", x);
              g.fetch("e", "y", x);
            }),
            "is there twice"));
  CHECK(has(refusal([](Graph& g, const Value&) { g.entry("e").targets.push_back(77); }), "a target is not there"));
}

TEST_CASE("bodies nest as deep as the limit, and no deeper") {
  Graph graph;
  const Value value = graph.constant(1, DType::float32);
  std::function<Values(int)> nested = [&](int depth) {
    if (depth == 0) return Values{value + 1};
    return cond(
        less(value, 2), [&] { return nested(depth - 1); }, [&] { return Values{value * 1}; });
  };
  nested(kMaxNesting);
  same(graph, *reload(graph, GraphFormat::binary));
  nested(kMaxNesting + 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(encode_graph(graph, GraphFormat::binary)), doctest::Contains("nested more"),
                       Error);
}

TEST_CASE("a graph goes through files, with its large tensors") {
  const test::TempFolder folder;
  Graph graph;
  fill(graph);
  Tensor large(DType::int64, {400, 512});
  large.mutable_data<std::int64_t>()[400 * 512 - 1] = -7;
  graph.constant(large);
  for (const char* name : {"m.pb", "m.pbtxt"}) {
    save_graph(graph, folder / name);
    same(graph, *load_graph(folder / name, default_ops()));
    CHECK(local_files().exists(folder / (std::string(name) + ".safetensors")));
  }
  CHECK(local_files().read(folder / "m.pbtxt").text().starts_with("# A ferry graph"));
}
