// Graphs for benchmarks in which tasks send messages to each other.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"

namespace ferry::bench {

/// The number of steps, and the number of measured rounds in each step.
struct Work {
  std::int64_t steps = 1;
  std::int64_t per_step = 1;
};
/// Enough work, with messages of `bytes` bytes, for an exact timing. A step is short enough for its instructions to fit
/// the caches.
[[nodiscard]] Work work_for(std::int64_t bytes);

/// A chain of `hops` ops that alternates between the tasks `first` and `second`: each adds one to `bytes` bytes of
/// floats. Returns the target of a step.
[[nodiscard]] Value hop_chain(Graph& graph, int first, int second, std::int64_t bytes, std::int64_t hops);

/// Repeated all-reduces along an axis of the mesh, which has `members` tasks. In each round, every task divides the
/// previous round's sums by `members`, and the results are summed over the tasks. The sums have `bytes` bytes of
/// floats. Returns the target of a step.
[[nodiscard]] Value sum_rounds(Graph& graph, MeshId mesh, std::size_t axes, std::size_t axis, std::int64_t members,
                               std::int64_t bytes, std::int64_t rounds);

}  // namespace ferry::bench
