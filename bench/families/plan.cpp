// Time and memory from the making of a large graph to its plan, on four tasks.
#include <malloc.h>

#include <fstream>
#include <memory>

#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/graphs/all_kernels.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "graph/file/graph_file.hpp"
#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "placement/planner.hpp"
#include "placement/verify/verify.hpp"

namespace ferry::bench {
namespace {

constexpr int kChainOps = 1'000'000;
constexpr int kRandomOps = 100'000;
constexpr int kTasks = 4;
/// The tasks take turns: each this many ops.
constexpr int kBlocks = 100;

/// Builds ops one after another, in blocks on the tasks; `next` makes one.
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

/// Maxima of the last value and an earlier one, chosen by the linear congruential generator of Knuth's MMIX: so that
/// the last one needs them all.
Value random_maxima(Graph& g, const Value& x) {
  Values made{x};
  std::uint64_t state = 1;
  in_blocks(g, kRandomOps, [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    made.push_back(maximum(made.back(), made[static_cast<std::size_t>((state >> 33) % made.size())]));
  });
  return made.back();
}

/// The value of that field in /proc/self/status, in bytes; 0 where there is none.
double status_bytes(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kibibytes = 0;
  while (status >> word)
    if (word == wanted && status >> kibibytes) return kibibytes * 1024;
  return 0;
}

/// Starts the high-water mark of resident memory anew, and returns the bytes that are resident now.
double begin_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  return status_bytes("VmRSS:");
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
  const double before = begin_peak();
  begin = system_clock().now();
  {
    // Infer, place, cut, order and lay out; then prove.
    const PlanResult planned = make_plan(*graph, signature, Topology::local(kTasks), AllKernels());
    require_verified(planned.plan);
    Figure all = figure("", std::chrono::duration<double>(system_clock().now() - begin).count());
    laps.insert(laps.begin(), std::move(all));
  }
  laps.push_back(figure("peak", (status_bytes("VmHWM:") - before) / ops, "B/op"));
  return laps;
}

}  // namespace

std::vector<Benchmark> plan_benchmarks() {
  return {{"plan.1M.chain", "s", Benchmark::Better::lower, "", [] { return plan_case(kChainOps, chain); }},
          {"plan.1M.random", "s", Benchmark::Better::lower, "", [] { return plan_case(kRandomOps, random_maxima); }}};
}

}  // namespace ferry::bench
