// The graphs of Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime
// Performance", SC 2020). There are kPoints points, and each point has a task in each timestep. A task takes and checks
// the payloads of some tasks of the previous timestep, computes, and makes its own payload.
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

/// The result of a task: 16 bytes that identify the task.
struct Payload {
  std::int64_t timestep = 0;  ///< from 0; the initial payload of a point has timestep -1
  std::int64_t point = 0;
  bool operator==(const Payload&) const = default;
};

/// The names of the patterns: "stencil_1d" (a point and its two neighbours), "nearest" (a point and two neighbours on
/// each side), "all_to_all", "fft" (butterflies: neighbours at distance 1, 2, 4, then 1 again), "no_comm" (only the
/// point itself).
[[nodiscard]] std::span<const std::string_view> patterns();

/// The points, ascending, from which a task takes payloads of the previous timestep. Error(usage) for another pattern.
[[nodiscard]] std::vector<std::int64_t> points_before(std::string_view pattern, std::int64_t timestep,
                                                      std::int64_t point);

/// Task Bench's compute-bound kernel: a multiplication and an addition of each of 64 numbers, `iterations` times.
void compute(std::int64_t iterations);

/// Checks a payload. Error(bug) if it differs from `expected`.
void check_payload(const Payload& payload, const Payload& expected);

/// Adds one op to `graph` for each task of `timesteps` timesteps. The points are placed in equal blocks on the `tasks`
/// tasks of a job. Each step of a run continues where the previous step ended. Returns the targets of a run.
[[nodiscard]] std::vector<Value> add_task_graph(Graph& graph, std::string_view pattern, std::int64_t timesteps,
                                                int tasks);
/// The CPU's kernels, and the kernel of the ops that add_task_graph() adds.
[[nodiscard]] const KernelTable& kernels_with_points();
/// Sets the number of iterations that the kernel of these ops computes. Do not call it while a session runs.
void set_iterations(std::int64_t iterations);

}  // namespace ferry::bench
