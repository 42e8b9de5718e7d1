// select: makes the program that one run needs from a graph and a signature.
//
// Example (abridged):
//
//     x = input, k = constant, unused = exp(x), y = x * (k + k), and y is fetched
//
// becomes
//
//     program of 4 values
//     region 0 step
//       %0 = Input() float32[4]  # x
//       %1 = Constant() float32[4]  # k
//       %2 = Add(%1, %1) float32[4]  # twice
//       %3 = Mul(%0, %2) float32[4]  # y
//       fetch.0(%3) @/task:0/cpu:0  # y
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Copies the ops that the fetches and targets need, with the types that result from the sizes of the feeds. Throws
/// Error(usage) for a signature that does not fit the graph; Error(plan) names op and line.
[[nodiscard]] Program select(const Graph& graph, const Signature& signature, const Topology& topology,
                             const KernelLookup& kernels, const PlanOptions& options);

}  // namespace ferry
