#include "runner/options/selection.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/log_text.hpp"

namespace ferry {
namespace {

struct Fixture {
  Graph g;
  Value a = g.constant({1, 2}).named("a");
  Value b = g.constant({3, 4}).named("b");
  Value sum = (a + b).named("sum");
  Value product = (a * b).named("product");
};

using Names = std::vector<std::string>;

std::string refusal(Graph& graph, const std::string& entry, const Names& fetches) {
  try {
    static_cast<void>(select_entry(graph, entry, fetches));
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    return error.text();
  }
  return "";
}

bool are(const Values& fetched, const Values& wanted) {
  return std::ranges::equal(fetched, wanted, [](const Value& a, const Value& b) { return a.is(b); });
}

TEST_CASE("without entries the outputs are fetched") {
  Fixture f;
  const Selection selection = select_entry(f.g, "", {});
  CHECK(selection.entry.empty());
  CHECK(selection.names == Names{"sum", "product"});
  CHECK(are(selection.request.fetches, {f.sum, f.product}));
}

TEST_CASE("train is the default entry, else the only one besides init") {
  Fixture f;
  f.g.fetch("init", "i", f.a);
  f.g.fetch("predict", "p", f.sum);
  CHECK(select_entry(f.g, "", {}).entry == "predict");
  f.g.fetch("eval", "e", f.product);
  CHECK(select_entry(f.g, "", {}).entry.empty());
  f.g.fetch("train", "t", f.product);
  const Selection train = select_entry(f.g, "", {});
  CHECK(train.entry == "train");
  CHECK(train.names == Names{"t"});
  CHECK(select_entry(f.g, "eval", {}).names == Names{"e"});
}

TEST_CASE("fetches are names of the entry's fetches or of values") {
  Fixture f;
  f.g.fetch("run", "result", f.sum);
  const Selection selection = select_entry(f.g, "", {"result,a", "product"});
  CHECK(selection.names == Names{"result", "a", "product"});
  CHECK(are(selection.request.fetches, {f.sum, f.a, f.product}));
}

TEST_CASE("what is unknown is named with the nearest that is there") {
  Fixture f;
  f.g.fetch("train", "loss", f.sum);
  CHECK(refusal(f.g, "trian", {}) == "--entry trian: the graph has no such entry\n  try: --entry train?");
  CHECK(refusal(f.g, "zzz", {}) == "--entry zzz: the graph has no such entry\n  try: one of train");
  CHECK(refusal(f.g, "", {"los"}) == "--fetch los: there is no such fetch or value\n  try: loss?");
  CHECK(refusal(f.g, "", {"produkt"}).find("product") != std::string::npos);
  CHECK(refusal(f.g, "", {"loss,loss"}) == "--fetch loss: given twice\n  try: name it once");
  CHECK(refusal(f.g, "", {"loss,"}).find("empty") != std::string::npos);
}

TEST_CASE("a fetch inside a body says whose body it is") {
  Fixture f;
  Graph& body = f.g.add_subgraph("body");
  const Value inside = body.parameter(f.a.type(), {"m.cpp", 1});
  const Value twice = (inside + inside).named("twice");
  static constexpr AttrDef kAttrs[] = {{"body", "subgraph"}};
  static constexpr OpDef kOwner{.name = "Owner", .types = "T->T", .attrs = kAttrs, .index = "...->..."};
  const Value inputs[] = {f.a};
  static_cast<void>(f.g.add(kOwner, inputs, {{"body", SubgraphRef{0}}}, {"m.cpp", 2})[0].named("loop"));
  const std::string text = refusal(f.g, "", {twice.name()});
  CHECK_MESSAGE(text.find("inside a body of 'loop'") != std::string::npos, text);
}

TEST_CASE("an entry's data gives the length of an epoch") {
  Graph g;
  const Value rows = read_npy(g, "x.npy", DType::float32, {100, 4});
  const Values now = batch(Values{rows}, 30);
  g.fetch("train", "x", now[0]);
  CHECK(data_of(g, select_entry(g, "", {})) == Batches{.rows = 100, .size = 30, .keep = true});
  Graph streamed;
  streamed.fetch("run", "rows",
                 batch(Values{read_npy(streamed, "x.npy", DType::float32, {100, 2})}, 30,
                       {.rest = Rest::drop, .stream_from = 1})[0]);
  CHECK(data_of(streamed, select_entry(streamed, "", {})) == Batches{.rows = 100, .size = 30, .keep = false});
  Fixture f;
  CHECK(!data_of(f.g, select_entry(f.g, "", {})));
}

TEST_CASE("an entry that reads variables and sets none is told from one that trains") {
  Graph graph;
  const Value w = graph.variable("w", graph.constant(1.0));
  graph.target("train", assign(w, w * 0.5));
  graph.fetch("train", "w", w);
  graph.fetch("eval", "twice", w * 2.0);
  graph.fetch("none", "two", graph.constant(2.0) * 1.0);
  const auto read = [&](const char* entry) { return variables_only_read(graph, select_entry(graph, entry, {})); };
  CHECK(read("eval") == std::vector<std::string>{"w"});
  CHECK(read("train").empty());
  CHECK(read("none").empty());
}

TEST_CASE("variables that begin with the content of files are not reported as untrained") {
  Graph graph;
  const Value file = read_safetensors(graph, "m.safetensors", "w", {2});
  const Value w = graph.variable("w", file * 2.0), b = graph.variable("b", graph.constant({0.0, 0.0}));
  graph.fetch("predict", "y", w * 3.0);
  graph.fetch("both", "y", w + b);
  const auto read = [&](const char* entry) { return variables_only_read(graph, select_entry(graph, entry, {})); };
  CHECK(read("predict").empty());
  CHECK(read("both") == std::vector<std::string>{"b"});
}

TEST_CASE("updates that no entry runs are reported with their line") {
  Graph graph;
  const Value w = graph.variable("w", graph.constant(1.0)), b = graph.variable("b", graph.constant(0.0));
  const int line = __LINE__ + 1;
  const Values updates = momentum(square(w + b), {w, b}, 0.1);
  const auto warning = [&](bool runs_others) {
    const test::LogText log;
    warn_of_forgotten_updates(graph, runs_others);
    return log.text;
  };
  CHECK(warning(false).empty());  // without entries, the outputs are run, and updates are outputs
  graph.fetch("train", "loss", square(w + b));
  for (const bool runs_others : {false, true}) {
    const std::string text = warning(runs_others);
    CHECK(text.starts_with("warning: no entry runs assign"));
    CHECK(text.find("selection_test.cpp:" + std::to_string(line)) != std::string::npos);
    CHECK(text.find(", and 3 more like it, so nothing sets the variable 'w'; call g.target(") != std::string::npos);
  }
  graph.target("train", updates[0]);
  CHECK(forgotten_updates(graph, false).size() == 3);
  CHECK(forgotten_updates(graph, true).empty());  // a program's own loop may run them
  for (const Value& update : updates) graph.target("train", only_when(square(w) > 0.0, {update})[0]);
  CHECK(forgotten_updates(graph, false).empty());  // others set their variables
}

}  // namespace
}  // namespace ferry
