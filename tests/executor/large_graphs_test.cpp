// Large graphs, the whole way: built, saved, loaded, planned and run with right results.
#include <doctest/doctest.h>

#include "executor/session/session.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/array/array.hpp"
#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

Cluster tasks(int n) {
  return Cluster::connect(ClusterOptions{.tasks = n, .threads = 1, .jobs = ""});
}

std::unique_ptr<Graph> saved_and_loaded(const Graph& graph) {
  const test::TempFolder folder;
  save_graph(graph, folder / "graph.pb");
  return load_graph(folder / "graph.pb", default_ops());
}

/// The fetches of an entry after one step.
std::vector<Tensor> run_entry(const Graph& graph, std::string_view entry, const TensorMap& feeds, int n) {
  auto& loaded = const_cast<Graph&>(graph);  // only to get handles of its values
  RunRequest request;
  for (const auto& fetch : loaded.entry(entry).fetches) request.fetches.push_back(loaded.value(fetch.value));
  request.feeds = feeds;
  Session session(graph, tasks(n));
  return session.run(request);
}

}  // namespace

TEST_CASE("a chain of a million adds") {
  Graph g;
  {
    const Value one = g.constant(1.0);
    Value sum = one;
    for (int i = 0; i < 1'000'000; ++i) sum = sum + one;
    g.fetch("run", "sum", sum);
  }
  const std::unique_ptr<Graph> loaded = saved_and_loaded(g);
  CHECK(loaded->size() == 1'000'001);
  for (const int n : {1, 2}) {
    CAPTURE(n);
    CHECK(run_entry(*loaded, "run", {}, n)[0].number(0) == 1'000'001);
  }
}

TEST_CASE("a chain of a hundred thousand adds that goes from task to task") {
  Graph g;
  Value sum = g.constant(1.0, DType::float64);
  for (int i = 0; i < 100'000; ++i) {
    const Scope here = g.device("/task:" + std::to_string(i % 3));
    sum = sum + 1.0;
  }
  g.fetch("run", "sum", sum);
  const std::unique_ptr<Graph> loaded = saved_and_loaded(g);
  CHECK(run_entry(*loaded, "run", {}, 3)[0].number(0) == 100'001);
}

TEST_CASE("a random graph of 100,000 ops") {
  constexpr std::uint64_t kSeed = 7;
  std::vector<std::vector<Tensor>> results;
  for (const int n : {1, 4}) {
    const test::RandomGraph made = test::random_graph(kSeed, 100'000, n);
    Graph& g = *made.graph;
    TensorMap feeds;
    for (const Value& input : made.inputs) feeds[input.name()] = test::tensor_for(kSeed, input);
    // A value here and there, so that nearly all of the graph is needed.
    std::vector<Value> fetches;
    for (OpId id = 0; id < g.size(); id += 20)
      if (!g.op(id).def().is(kEffect)) fetches.push_back(g.value(g.op(id).output(0)));
    for (const Value& fetch : fetches) g.fetch("run", std::string(fetch.name()), fetch);
    if (n == 1) results.push_back(test::Evaluator(g).run(fetches, feeds));
    const std::unique_ptr<Graph> loaded = saved_and_loaded(g);
    CHECK(loaded->size() == g.size());
    results.push_back(run_entry(*loaded, "run", feeds, n));
  }
  for (std::size_t k = 1; k < results.size(); ++k) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < results[0].size(); ++i) wrong += results[0][i].same_bits(results[k][i]) ? 0 : 1;
    CAPTURE(k);
    CHECK(wrong == 0);
  }
}

}  // namespace ferry
