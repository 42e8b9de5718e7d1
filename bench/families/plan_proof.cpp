// The time and memory of the proof that the plan of a large transformer computes its graph.
#include <string>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/graphs/all_kernels.hpp"
#include "bench/processes/peak_memory.hpp"
#include "graph/graph.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/layers.hpp"
#include "ops/train/optim.hpp"
#include "placement/planner.hpp"
#include "plan/equal/equal.hpp"
#include "plan/verify/verify.hpp"

namespace ferry::bench {
namespace {

constexpr int kBlocksOfProof = 100, kTasksOfProof = 1024;
/// The size of the tensor-parallel axis, which is within a host.
constexpr int kTensorOfProof = 8;
constexpr std::int64_t kWidthOfProof = 1024, kHeadsOfProof = 16, kTokensOfProof = 64;

/// A transformer block: attention, then a feed-forward layer, both with a residual connection. The heads and the hidden
/// units are split along the tensor-parallel axis.
Value transformer_block(nn::Parameters& parameters, const std::string& name, const Value& x) {
  const nn::LayerNorm first_norm(parameters, name + "/first_norm", kWidthOfProof);
  const nn::Attention attention(parameters, name + "/attention", kWidthOfProof, kHeadsOfProof);
  const nn::LayerNorm second_norm(parameters, name + "/second_norm", kWidthOfProof);
  const nn::Dense up(parameters, name + "/up", kWidthOfProof, 4 * kWidthOfProof);
  const nn::Dense down(parameters, name + "/down", 4 * kWidthOfProof, kWidthOfProof);
  for (const Value& heads : {attention.queries, attention.keys, attention.values, attention.out, up.bias, down.weights})
    heads.laid({replicated(), split(0)});
  up.weights.laid({replicated(), split(1)});
  const Value attended = x + attention(first_norm(x), {.causal = true});
  return attended + down(gelu(up(second_norm(attended))));
}

/// Builds a training step, with the batch split along the data-parallel axis. It fetches the loss and runs the updates
/// of the weights.
Signature transformer_step(Graph& graph) {
  const auto everywhere = graph.on(graph.mesh({{"dp", Mesh::kOpen}, {"tp", kTensorOfProof}}));
  nn::Parameters parameters(graph);
  const Value rows = graph.input("rows", {kTasksOfProof / kTensorOfProof, kTokensOfProof, kWidthOfProof});
  Value x = identity(rows).laid({split(0), replicated()});
  for (int layer = 0; layer < kBlocksOfProof; ++layer)
    x = transformer_block(parameters, "block" + std::to_string(layer), x);
  const Value loss = mean(square(x));
  Signature signature;
  signature.fetches = {loss.id()};
  signature.feeds = {{rows.id(), 0, graph.type(rows.id()).shape.sizes()}};
  for (const Value& update : adamw(gradients_of(loss, parameters.trained()), 0.003))
    signature.targets.push_back(update.op().id());
  return signature;
}

std::vector<Figure> proof() {
  Graph graph;
  const Signature signature = transformer_step(graph);
  Topology topology = Topology::local(kTasksOfProof);
  for (int t = 0; t < kTasksOfProof; ++t) topology.tasks[t].host = t / kTensorOfProof;
  std::vector<Figure> figures;
  const auto add = [&](std::string part, double value, const char* unit) {
    Figure figure;
    figure.part = std::move(part);
    figure.ferry = value;
    figure.unit = unit;
    figures.push_back(figure);
  };
  const auto measured = [&](const std::string& part, const auto& work) {
    const double before = reset_peak();
    const TimePoint begin = system_clock().now();
    work();
    add(part, std::chrono::duration<double>(system_clock().now() - begin).count(), "");
    add(part + (part.empty() ? "peak" : ".peak"), (peak_bytes() - before) / (1 << 20), "MiB");
  };
  const AllKernels kernels;
  Plan plan;
  measured("plan", [&] { plan = make_plan(graph, signature, topology, kernels).plan; });
  measured("verify", [&] { require_verified(plan); });
  measured("", [&] { require_equal(compare(graph, signature, plan, {&kernels})); });
  double instructions = 0;
  for (const PlanClass& role : plan.classes) instructions += static_cast<double>(role.instructions.size());
  add("classes", static_cast<double>(plan.classes.size()), "classes");
  add("instructions", instructions, "instructions");
  return figures;
}

}  // namespace

std::vector<Benchmark> plan_proof_benchmarks() {
  return {{"plan.proof", "s", Benchmark::Better::lower, "", proof}};
}

}  // namespace ferry::bench
