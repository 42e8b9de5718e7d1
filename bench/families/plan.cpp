// Time and memory for building, saving, loading and planning a large graph, on four tasks.
#include <memory>

#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/graphs/all_kernels.hpp"
#include "bench/processes/peak_memory.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"

namespace ferry::bench {
namespace {

constexpr int kChainOps = 1'000'000;
constexpr int kRandomOps = 100'000;
constexpr int kTasks = 4;
/// The number of blocks of equal size into which the ops are divided. The blocks are placed on the tasks in turn.
constexpr int kBlocks = 100;

/// Calls `next` `ops` times, and places each block of ops on the next task. `next` builds one op.
template <class Next>
void in_blocks(Graph& g, int ops, const Next& next) {
  for (int block = 0; block < kBlocks; ++block) {
    auto here = g.device("/task:" + std::to_string(block % kTasks));
    for (int i = 0; i < ops / kBlocks; ++i) next();
  }
}

Value chain(Graph& g, const Value& x) {
  Value sum = x;
  in_blocks(g, kChainOps, [&] { sum = sum + x; });
  return sum;
}

/// A chain of ops. Each op is the maximum of the previous value and a random earlier value (by the linear congruential
/// generator of Knuth's MMIX). So the last op depends on all others.
Value random_maxima(Graph& g, const Value& x) {
  Values made{x};
  std::uint64_t state = 1;
  in_blocks(g, kRandomOps, [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    made.push_back(maximum(made.back(), made[(state >> 33) % made.size()]));
  });
  return made.back();
}

Figure figure(const char* part, double value, const char* unit = "") {
  Figure result;
  result.part = part;
  result.ferry = value;
  result.unit = unit;
  return result;
}

std::vector<Figure> plan_case(int ops, Value (*build)(Graph&, const Value&)) {
  std::vector<Figure> laps;
  TimePoint begin = system_clock().now();
  const auto lap = [&](const char* what) {
    laps.push_back(figure(what, std::chrono::duration<double>(system_clock().now() - begin).count()));
    begin = system_clock().now();
  };
  const ScratchFolder folder;
  {
    Graph g;
    const Value x = g.input("x", DType::float32, {"n"});
    g.fetch("run", "out", build(g, x));
    lap("build");
    save_graph(g, folder.file("graph.pb"));
    lap("save");
  }
  begin = system_clock().now();
  const std::unique_ptr<Graph> graph = load_graph(folder.file("graph.pb"), default_ops());
  lap("load");
  Signature signature;
  signature.feeds = {{graph->value_named("x"), 0, {16}}};
  signature.fetches = {graph->entry("run").fetches[0].value};
  const double before = reset_peak();
  begin = system_clock().now();
  {
    // The main figure is the time of all planning passes and of the verifier.
    const PlanResult planned = make_plan(*graph, signature, Topology::local(kTasks), AllKernels());
    require_verified(planned.plan);
    Figure all = figure("", std::chrono::duration<double>(system_clock().now() - begin).count());
    laps.insert(laps.begin(), std::move(all));
  }
  laps.push_back(figure("peak", (peak_bytes() - before) / ops, "B/op"));
  return laps;
}

}  // namespace

std::vector<Benchmark> plan_benchmarks() {
  return {{"plan.1M.chain", "s", Benchmark::Better::lower, "", [] { return plan_case(kChainOps, chain); }},
          {"plan.1M.random", "s", Benchmark::Better::lower, "", [] { return plan_case(kRandomOps, random_maxima); }}};
}

}  // namespace ferry::bench
