// The cost of planning where many tasks have the same role, for 4096 tasks beside 8: a training step on a mesh with a
// data-parallel and a tensor-parallel axis.
#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/graphs/all_kernels.hpp"
#include "graph/graph.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "placement/planner.hpp"
#include "placement/verify/verify.hpp"

namespace ferry::bench {
namespace {

constexpr int kLayers = 8;
constexpr int kMany = 4096, kFew = 8;
/// The size of the tensor axis, which lies within a host; the size of the data axis is the number of hosts.
constexpr int kTensor = 4;
constexpr std::int64_t kBatch = 16'384, kWidth = 256, kHidden = 1024;

/// The graph of a training step and its signature: fetches the loss, runs the updates of the weights.
struct Training {
  Training() {
    auto everywhere = graph.on(graph.mesh({{"dp", Mesh::kOpen}, {"tp", kTensor}}));
    const Value x = uniform(graph, {kBatch, kWidth}, -1, 1).laid({split(0), replicated()});
    Value y = x;
    Values weights;
    for (int layer = 0; layer < kLayers; ++layer) {
      auto named = graph.name("layer" + std::to_string(layer));
      weights.push_back(graph.variable("up", normal(graph, {kWidth, kHidden}, 0, 0.1)).laid({replicated(), split(1)}));
      const Value up = relu(matmul(y, weights.back()));
      weights.push_back(
          graph.variable("down", normal(graph, {kHidden, kWidth}, 0, 0.1)).laid({replicated(), split(0)}));
      y = y + matmul(up, weights.back());
    }
    const Value loss = mean(square(y - x));
    signature.fetches = {loss.id()};
    for (const Value& update : sgd(loss, weights, 0.1)) signature.targets.push_back(update.op().id());
  }

  /// Seconds to plan and verify for this many tasks.
  double plan(int tasks) const {
    Topology topology = Topology::local(tasks);
    for (int t = 0; t < tasks; ++t) topology.tasks[static_cast<std::size_t>(t)].host = t / kTensor;
    const TimePoint begin = system_clock().now();
    require_verified(make_plan(graph, signature, topology, AllKernels()).plan);
    return std::chrono::duration<double>(system_clock().now() - begin).count();
  }

  Graph graph;
  Signature signature;
};

}  // namespace

std::vector<Benchmark> plan_class_benchmarks() {
  return {{"plan.classes", "s", Benchmark::Better::lower, "8 tasks", [] {
             const Training training;
             return std::vector{compare(
                 kPairs, [&] { return training.plan(kMany); }, [&] { return training.plan(kFew); })};
           }}};
}

}  // namespace ferry::bench
