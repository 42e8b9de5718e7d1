// Graphs with a request and what their plans depend on, to be compared with these plans.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "executor/session/constant_ops.hpp"
#include "graph/op/core_ops.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "placement/planner.hpp"
#include "plan/equal/equal.hpp"
#include "plan/verify/verify.hpp"

namespace ferry::test {

/// The kernels of the CPU and of simulated devices.
inline const KernelLookup& all_kernels() {
  static const KernelsOfDevices all(cpu_kernels(), simulated_devices(1));
  return all;
}

/// A request for these values; inputs are fed on task 0.
inline Signature signature_of(const Graph& g, const std::vector<Value>& fetches,
                              const std::vector<Value>& targets = {}) {
  Signature signature;
  for (const Value& fetch : fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : targets) signature.targets.push_back(target.op().id());
  std::ranges::sort(signature.targets);
  for (OpId op = 0; op < g.size(); ++op)
    if (&g.op(op).def() == &kInput)
      signature.feeds.push_back({g.op(op).output(0), 0, g.type(g.op(op).output(0)).shape.sizes()});
  return signature;
}

/// The request of an entry of the graph; inputs are fed on task 0.
inline Signature signature_of_entry(const Graph& g, const std::string& entry) {
  Signature signature = signature_of(g, {});
  for (const Entry::Named& fetch : g.entries().at(entry).fetches) signature.fetches.push_back(fetch.value);
  signature.targets = g.entries().at(entry).targets;
  std::ranges::sort(signature.targets);
  return signature;
}

inline std::vector<Tensor> computed_constant(const ConstantOp& op) {
  return evaluate(cpu_kernels(), op);
}

/// The plan; constants are folded.
inline Plan plan_for(const Graph& g, const Signature& signature, const Topology& topology, PlanOptions options = {}) {
  options.evaluate = computed_constant;
  if (topology.tasks[0].gpus > 0) options.default_device = DeviceKind::gpu;
  return make_plan(g, signature, topology, all_kernels(), options).plan;
}

inline Equality compared(const Graph& g, const Signature& signature, const Plan& plan) {
  return compare(g, signature, plan, {&all_kernels(), computed_constant});
}

/// Annotates the ops of the graph as placement by itself chose.
inline void annotate(Graph& g, const LayoutAnnotations& annotations) {
  std::vector<Mesh::Axis> axes;
  for (const std::int64_t size : annotations.axes) axes.push_back({"a" + std::to_string(axes.size()), size});
  const MeshId all = axes.empty() ? kNoMesh : g.mesh(axes);
  for (const LayoutAnnotations::OfOp& of : annotations.ops) {
    DeviceSpec device;
    device.task = of.task;
    g.annotate(*g.find(of.op), {device, all, of.layouts});
  }
}

}  // namespace ferry::test
