// judge: the planned time of a program that has its messages. The planner compares placements by this time.
#pragma once

#include <cstdint>

#include "placement/program/program.hpp"

namespace ferry {

[[nodiscard]] constexpr double seconds_of(double picoseconds) {
  return picoseconds * 1e-12;
}

/// The planned time of a step, in picoseconds.
struct StepTime {
  std::int64_t step = 0;       ///< until the last task has done its work
  std::int64_t computing = 0;  ///< of the task that computes the longest
  /// Of messages and copies, on the task where they take the longest; tasks may compute while others send.
  std::int64_t messages = 0;

  bool operator==(const StepTime&) const = default;
};

/// The time of the program after fuse_messages. Each task runs its nodes one after another, in the program's order. A
/// node begins when its tasks are free and its inputs are there; all tasks of a collective take part from its beginning
/// to its end. A kernel takes its planned time (ComputingTimes), a message message_picoseconds(), a copy between a host
/// and its GPU the time of their link. A value is copied once in each run of a region. The bodies of a loop run
/// kIterations times; both sides of a branch count. Values that are computed once per session take no time. Tasks that
/// take part in the same nodes are simulated once.
[[nodiscard]] StepTime judge(const Program& program);

/// Simulates the same, and also returns the work of the step: its kernels and messages.
[[nodiscard]] StepEstimate estimate_step(const Program& program);

}  // namespace ferry
