// What happens to a large graph from its making to its second run.
#include <memory>

#include "base/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/scratch_folder.hpp"
#include "executor/session.hpp"
#include "graph/graph_file.hpp"
#include "ops/math.hpp"
#include "ops/op_set.hpp"

namespace ferry::bench {
namespace {

constexpr int kChainOps = 1'000'000;
constexpr int kRandomOps = 100'000;

Value chain(Graph& g) {
  const Value one = g.constant(1.0);
  Value sum = one;
  for (int i = 0; i < kChainOps; ++i) sum = sum + one;
  return sum;
}

/// Maxima of the last value and an earlier one, chosen by the linear congruential generator of Knuth's MMIX: so that
/// the last one needs them all.
Value random_maxima(Graph& g) {
  Values made{g.constant(1.0), g.constant(0.5)};
  std::uint64_t state = 1;
  const auto earlier = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return made[static_cast<std::size_t>((state >> 33) % made.size())];
  };
  for (int i = 2; i < kRandomOps; ++i) made.push_back(maximum(made.back(), earlier()));
  return made.back();
}

std::vector<Figure> plan_case(const std::function<Value(Graph&)>& build) {
  std::vector<Figure> laps;
  TimePoint begin = system_clock().now();
  const auto lap = [&](const char* what) {
    Figure figure;
    figure.part = what;
    figure.ferry = std::chrono::duration<double>(system_clock().now() - begin).count();
    laps.push_back(std::move(figure));
    begin = system_clock().now();
  };
  const ScratchFolder folder;
  {
    Graph g;
    g.fetch("run", "out", build(g));
    lap("build");
    save_graph(g, folder.file("graph.pb"));
    lap("save");
  }
  begin = system_clock().now();
  const std::unique_ptr<Graph> graph = load_graph(folder.file("graph.pb"), default_ops());
  lap("load");
  ClusterOptions options;
  options.tasks = 1;
  options.threads = 1;
  options.transport = "inproc";
  Session session(*graph, Cluster::connect(options));
  RunRequest request;
  request.fetches = {graph->value(graph->entry("run").fetches[0].value)};
  static_cast<void>(session.plan(request));
  lap("plan");
  static_cast<void>(session.run(request));
  lap("first_run");
  static_cast<void>(session.run(request));
  lap("run");
  return laps;
}

}  // namespace

std::vector<Benchmark> plan_benchmarks() {
  return {{"plan.1M.chain", "s", Benchmark::Better::lower, "", [] { return plan_case(chain); }},
          {"plan.1M.random", "s", Benchmark::Better::lower, "", [] { return plan_case(random_maxima); }}};
}

}  // namespace ferry::bench
