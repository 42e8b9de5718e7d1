// The graphs of Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime
// Performance", SC 2020): so many points, and in each timestep a task at each point, which takes values from tasks of
// the timestep before, computes, and gives a payload that the tasks after it check.
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
  std::int64_t timestep = 0;  ///< from 0; before it there is one of timestep -1 at each point
  std::int64_t point = 0;
  bool operator==(const Payload&) const = default;
};

/// "stencil_1d" (a point and its two neighbours), "nearest" (five points around), "all_to_all", "fft" (butterflies:
/// neighbours at distance 1, 2, 4, and again), "no_comm" (each point for itself).
[[nodiscard]] std::span<const std::string_view> patterns();

/// The points, ascending, whose payloads of the timestep before a task takes. Error(usage) for another pattern.
[[nodiscard]] std::vector<std::int64_t> points_before(std::string_view pattern, std::int64_t timestep,
                                                      std::int64_t point);

/// Task Bench's compute-bound kernel: `iterations` times a multiplication and an addition of 64 numbers.
void compute(std::int64_t iterations);

/// Checks a payload. Error(bug) when it is of another task than `expected`.
void check_payload(const Payload& payload, const Payload& expected);

/// The tasks of so many timesteps as ops in `graph`, points in equal blocks on the tasks of a job. Run step after step,
/// each goes on where the last one ended. The values are to be the targets of a run.
[[nodiscard]] std::vector<Value> add_task_graph(Graph& graph, std::string_view pattern, std::int64_t timesteps,
                                                int tasks);
/// The CPU's kernels, and the kernel of these ops.
[[nodiscard]] const KernelTable& kernels_with_points();
/// Sets how many iterations their kernels compute from now on; not while a session runs.
void set_iterations(std::int64_t iterations);

}  // namespace ferry::bench
