// The graphs of Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime
// Performance", SC 2020). There are kPoints points, and in each timestep a task at each point, which takes the payloads
// of some tasks of the timestep before and checks them, computes, and gives a payload itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "kernels/kernel.hpp"

namespace ferry::bench {

inline constexpr std::int64_t kPoints = 8;

/// The result of a task: 16 bytes that say which task it was.
struct Payload {
  std::int64_t timestep = 0;  ///< from 0; what a point starts with is of timestep -1
  std::int64_t point = 0;
  bool operator==(const Payload&) const = default;
};

/// "stencil_1d" (a point and its two neighbours), "nearest" (five points around), "all_to_all", "fft" (butterflies:
/// neighbours at distance 1, 2, 4, and again), "no_comm" (each point for itself).
[[nodiscard]] std::span<const std::string_view> patterns();

/// The points, ascending, from which a task takes payloads of the previous timestep. Error(usage) for another pattern.
[[nodiscard]] std::vector<std::int64_t> points_before(std::string_view pattern, std::int64_t timestep,
                                                      std::int64_t point);

/// Task Bench's compute-bound kernel: a multiplication and an addition of each of 64 numbers, `iterations` times.
void compute(std::int64_t iterations);

/// Checks a payload. Error(bug) when it is of another task than `expected`.
void check_payload(const Payload& payload, const Payload& expected);

/// Adds the tasks of `timesteps` timesteps to `graph`, an op each; the points lie in equal blocks on the `tasks` tasks
/// of a job. Each step of a run continues where the previous step ended. Returns the values that a run has as targets.
[[nodiscard]] std::vector<Value> add_task_graph(Graph& graph, std::string_view pattern, std::int64_t timesteps,
                                                int tasks);
/// The CPU's kernels, and the kernel of the ops that add_task_graph() adds.
[[nodiscard]] const KernelTable& kernels_with_points();
/// Sets how many iterations that kernel computes from now on. Must not be called while a session runs.
void set_iterations(std::int64_t iterations);

}  // namespace ferry::bench
