// The cost of an op that does nothing, in graphs of 100,000 ops that run repeatedly.
#include "bench/benchmark.hpp"
#include "bench/graphs/null_graphs.hpp"

namespace ferry::bench {
namespace {

constexpr std::uint32_t kOps = 100'000, kSide = 316;

std::vector<Figure> null_ops(const NullGraph& graph, int threads) {
  const NullRun ferry = null_run_by_ferry(graph, threads);
  std::optional<Figure> best;
  const auto against = [&](const char* name, const NullRun& peer) {
    if (!peer) return;
    Figure figure = compare(kPairs, ferry, peer);
    figure.peer = name;
    if (!best || *figure.peer_value < *best->peer_value) best = figure;
  };
  against("oneTBB flow_graph", null_run_by_tbb(graph, threads));
  against("Taskflow", null_run_by_taskflow(graph, threads));
  return {best ? *best : measure_alone(kPairs, ferry)};
}

}  // namespace

std::vector<Benchmark> op_benchmarks() {
  std::vector<Benchmark> all;
  for (int threads : {1, 2}) {
    const std::string end = "." + std::to_string(threads);
    const auto add = [&](const std::string& name, NullGraph (*make)(std::uint32_t), std::uint32_t size) {
      all.push_back({"op." + name + end, "ns", Benchmark::Better::lower, "oneTBB flow_graph, Taskflow",
                     [=] { return null_ops(make(size), threads); }});
    };
    add("chain", null_chain, kOps);
    add("wavefront", null_wavefront, kSide);
    add("random", null_random, kOps);
    add("wide", null_wide, kOps);
  }
  return all;
}

}  // namespace ferry::bench
