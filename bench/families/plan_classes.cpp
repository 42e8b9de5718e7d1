// The cost of planning for many tasks. In a training step on a mesh with a data-parallel and a tensor-parallel axis,
// many tasks have the same role. In a chain with an op on each task, no two tasks have the same role.
#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/graphs/all_kernels.hpp"
#include "bench/processes/peak_memory.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/graph.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"

namespace ferry::bench {
namespace {

constexpr int kLayers = 8;
constexpr int kMany = 4096, kFew = 8;
/// The size of the tensor-parallel axis, which is within a host. The size of the data-parallel axis is the number of
/// hosts.
constexpr int kTensor = 4;
constexpr std::int64_t kBatch = 16'384, kWidth = 256, kHidden = 1024;

/// A graph, and its planned entry "train".
struct Planned {
  void fetch(const Value& value) {
    graph.fetch("train", "out", value);
    signature.fetches = {value.id()};
  }
  void run(const Value& update) {
    graph.target("train", update);
    signature.targets.push_back(update.op().id());
  }

  Graph graph;
  Signature signature;
};

/// Builds a training step, which fetches the loss and runs the updates of the weights.
void training(Planned& planned, int) {
  Graph& graph = planned.graph;
  auto everywhere = graph.on(graph.mesh({{"dp", Mesh::kOpen}, {"tp", kTensor}}));
  const Value x = uniform(graph, {kBatch, kWidth}, -1, 1).laid({split(0), replicated()});
  Value y = x;
  Values weights;
  for (int layer = 0; layer < kLayers; ++layer) {
    auto named = graph.name("layer" + std::to_string(layer));
    weights.push_back(graph.variable("up", normal(graph, {kWidth, kHidden}, 0, 0.1)).laid({replicated(), split(1)}));
    const Value up = relu(matmul(y, weights.back()));
    weights.push_back(graph.variable("down", normal(graph, {kHidden, kWidth}, 0, 0.1)).laid({replicated(), split(0)}));
    y = y + matmul(up, weights.back());
  }
  const Value loss = mean(square(y - x));
  planned.fetch(loss);
  for (const Value& update : sgd(loss, weights, 0.1)) planned.run(update);
}

/// Builds a chain with one op on each task. It computes almost nothing, so that a run shows the cost of starting.
void chain(Planned& planned, int tasks) {
  Value value = planned.graph.constant(1.0);
  for (int t = 0; t < tasks; ++t) {
    auto here = planned.graph.device("/task:" + std::to_string(t));
    value = value + 1.0;
  }
  planned.fetch(value);
}

/// Seconds to plan and verify for `tasks` tasks.
double plan(const Planned& planned, int tasks) {
  Topology topology = Topology::local(tasks);
  for (int t = 0; t < tasks; ++t) topology.tasks[t].host = t / kTensor;
  const TimePoint begin = system_clock().now();
  require_verified(make_plan(planned.graph, planned.signature, topology, AllKernels()).plan);
  return std::chrono::duration<double>(system_clock().now() - begin).count();
}

Figure named(const char* part, const char* unit, Figure figure) {
  figure.part = part;
  figure.unit = unit;
  return figure;
}

struct ManyTasks {
  const char* name;
  void (*build)(Planned& planned, int tasks);
  int most_run;  ///< the number of tasks up to which they also run, in one process
};
constexpr ManyTasks kManyTasks[] = {{"training", training, 0}, {"chain", chain, 1024}};

/// Measures the time and memory of planning in this process, and the times of two programs. `ferry check` does the work
/// of a process before it meets the others. `ferry run` runs one step of all tasks in one process.
std::vector<Figure> planning(const ManyTasks& many, int tasks) {
  const int times = tasks <= 4096 ? 5 : 1;
  Planned planned;
  many.build(planned, tasks);
  const ScratchFolder folder;
  const std::string file = folder.file("graph.pb");
  save_graph(planned.graph, file);
  const auto program = [&](const std::string& command, const std::vector<std::string>& options) {
    std::vector<std::string> words = {this_program(), command, file, "--tasks", std::to_string(tasks)};
    words.insert(words.end(), options.begin(), options.end());
    return measure_alone(times, [&] { return run_program(words).seconds * 1e3; });
  };
  const Figure time = measure_alone(times, [&] { return plan(planned, tasks) * 1e3; });
  Figure memory;
  const double before = reset_peak();
  static_cast<void>(plan(planned, tasks));
  memory.ferry = (peak_bytes() - before) / (1 << 20);
  std::vector<Figure> figures = {time, named("peak", "MiB", memory),
                                 named("start", "ms", program("check", {"--hosts", std::to_string(tasks / kTensor)}))};
  if (tasks <= many.most_run) figures.push_back(named("run", "ms", program("run", {"--threads", "1"})));
  return figures;
}

}  // namespace

std::vector<Benchmark> plan_class_benchmarks() {
  std::vector<Benchmark> all = {
      {"plan.classes", "s", Benchmark::Better::lower, "8 tasks", [] {
         Planned planned;
         training(planned, kMany);
         return std::vector{compare(
             kPairs, [&] { return plan(planned, kMany); }, [&] { return plan(planned, kFew); })};
       }}};
  for (const ManyTasks& many : kManyTasks)
    for (const int tasks : {8, 64, 512, 4096, 16'384, 65'536})
      all.push_back({"plan.tasks." + std::string(many.name) + "." + std::to_string(tasks), "ms",
                     Benchmark::Better::lower, "", [&many, tasks] { return planning(many, tasks); }});
  return all;
}

}  // namespace ferry::bench
