// The ops of a graph that a request needs, and the batches of data that they read.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "graph/types/batches.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// For each op of the graph, whether it must run to compute `values` and to run `ops`.
[[nodiscard]] std::vector<bool> needed_ops(const Graph& graph, std::span<const ValueId> values,
                                           std::span<const OpId> ops);

/// The batches of the needed ops and of the bodies of their loops and branches, each once.
[[nodiscard]] std::vector<Batches> batches_of(const Graph& graph, const std::vector<bool>& needed);
/// The batches of batches_of() that are smaller at the end of an epoch: such a step needs another plan.
[[nodiscard]] std::vector<Batches> uneven_batches(const Graph& graph, const std::vector<bool>& needed);

}  // namespace ferry
#pragma GCC visibility pop
