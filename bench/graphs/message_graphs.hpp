// Graphs of benchmarks whose tasks send each other messages.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"

namespace ferry::bench {

/// The number of steps, and how many of the measured rounds are in each step.
struct Work {
  std::int64_t steps = 1;
  std::int64_t per_step = 1;
};
/// Enough work with messages of this many bytes to be timed well, with steps of few enough instructions for the caches.
[[nodiscard]] Work work_for(std::int64_t bytes);

/// A chain of `hops` ops that alternates between the tasks `first` and `second`: each adds one to `bytes` bytes of
/// floats. Returns the target of a step.
[[nodiscard]] Value hop_chain(Graph& graph, int first, int second, std::int64_t bytes, std::int64_t hops);

/// In each round each task of an axis of the mesh takes its share of the sums of the round before (of two tasks the
/// half), and the shares are summed over the `members` tasks of the axis. The sums have `bytes` bytes of floats.
/// Returns the target of a step.
[[nodiscard]] Value sum_rounds(Graph& graph, MeshId mesh, std::size_t axes, std::size_t axis, std::int64_t members,
                               std::int64_t bytes, std::int64_t rounds);

}  // namespace ferry::bench
