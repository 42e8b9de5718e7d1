// Graphs of ops that do nothing: they measure the cost of an op besides its kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ferry::bench {

/// The ops in an order in which they can run, and of each the earlier ones that it takes values from; the last op needs
/// all others, the first none.
struct NullGraph {
  std::vector<std::vector<std::uint32_t>> needs;
};

[[nodiscard]] NullGraph null_chain(std::uint32_t ops);
/// Each op needs two earlier ones, drawn by the linear congruential generator of Knuth's MMIX.
[[nodiscard]] NullGraph null_random(std::uint32_t ops);
/// A square: each op needs the one above and the one to its left.
[[nodiscard]] NullGraph null_wavefront(std::uint32_t side);
/// All but the last need the first alone.
[[nodiscard]] NullGraph null_wide(std::uint32_t ops);

/// Runs such a graph once and gives the nanoseconds for each op.
using NullRun = std::function<double()>;

/// The graph as a session runs it, on one task with so many threads.
[[nodiscard]] NullRun null_run_by_ferry(const NullGraph& graph, int threads);
/// The graph in oneTBB's flow_graph (tbb_flow_graph.cpp); an empty function where oneTBB is absent (no_tbb.cpp).
[[nodiscard]] NullRun null_run_by_tbb(const NullGraph& graph, int threads);
/// The graph in Taskflow (taskflow.cpp); an empty function where its headers were not given (no_taskflow.cpp).
[[nodiscard]] NullRun null_run_by_taskflow(const NullGraph& graph, int threads);

}  // namespace ferry::bench
