// select: from a graph and a signature to the program that one run needs.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Copies the ops that the fetches and targets need, with the types that the feeds' sizes give. Error(usage) for a
/// signature that does not fit the graph; Error(plan) names op and line.
[[nodiscard]] Program select(const Graph& graph, const Signature& signature, const Topology& topology,
                             const KernelLookup& kernels, const PlanOptions& options);

}  // namespace ferry
