// Graphs of ops that do nothing: they measure the cost of an op besides its kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ferry::bench {

/// For each op, in topological order, the earlier ops that make its inputs. The first op takes none; the last one
/// depends on all others, directly or not.
struct NullGraph {
  std::vector<std::vector<std::uint32_t>> needs;
};

[[nodiscard]] NullGraph null_chain(std::uint32_t ops);
/// Each op takes two earlier ones, drawn by the linear congruential generator of Knuth's MMIX; the last op takes all
/// that no other took.
[[nodiscard]] NullGraph null_random(std::uint32_t ops);
/// A square: each op needs the one above and the one to its left.
[[nodiscard]] NullGraph null_wavefront(std::uint32_t side);
/// The first op, then ops that take only it, then one that takes all of these.
[[nodiscard]] NullGraph null_wide(std::uint32_t ops);

/// Runs a graph and returns the nanoseconds for each op.
using NullRun = std::function<double()>;

/// Runs the graph in a session, on one task with this many threads; gives the mean of several steps.
[[nodiscard]] NullRun null_run_by_ferry(const NullGraph& graph, int threads);
/// The graph in oneTBB's flow_graph (tbb_flow_graph.cpp); an empty function where oneTBB is absent (no_tbb.cpp).
[[nodiscard]] NullRun null_run_by_tbb(const NullGraph& graph, int threads);
/// The graph in Taskflow (taskflow.cpp); an empty function where its headers were not given (no_taskflow.cpp).
[[nodiscard]] NullRun null_run_by_taskflow(const NullGraph& graph, int threads);

}  // namespace ferry::bench
