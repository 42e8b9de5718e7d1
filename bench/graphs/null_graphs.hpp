// Graphs of ops that do nothing. They measure the cost of an op without its kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ferry::bench {

/// `needs` has, for each op in topological order, the earlier ops that make its inputs. The first op has no inputs; the
/// last op depends on all others, directly or indirectly.
struct NullGraph {
  std::vector<std::vector<std::uint32_t>> needs;
};

[[nodiscard]] NullGraph null_chain(std::uint32_t ops);
/// Each op takes the results of two random earlier ops (by the linear congruential generator of Knuth's MMIX). The last
/// op takes all results that no other op took.
[[nodiscard]] NullGraph null_random(std::uint32_t ops);
/// A square of ops: each op needs the op above it and the op to its left.
[[nodiscard]] NullGraph null_wavefront(std::uint32_t side);
/// One op, then ops that take only its result, then one op that takes all of their results.
[[nodiscard]] NullGraph null_wide(std::uint32_t ops);

/// Runs a graph and returns the nanoseconds for each op.
using NullRun = std::function<double()>;

/// Runs the graph in a session, on one task with `threads` threads; returns the mean of several steps.
[[nodiscard]] NullRun null_run_by_ferry(const NullGraph& graph, int threads);
/// Runs the graph in oneTBB's flow_graph (tbb_flow_graph.cpp); an empty function if oneTBB is absent (no_tbb.cpp).
[[nodiscard]] NullRun null_run_by_tbb(const NullGraph& graph, int threads);
/// Runs the graph in Taskflow (taskflow.cpp); an empty function if ferry was built without its headers
/// (no_taskflow.cpp).
[[nodiscard]] NullRun null_run_by_taskflow(const NullGraph& graph, int threads);

}  // namespace ferry::bench
