// MemoryLimits: checks whether the tasks of a finished plan have enough memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "graph/budget.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The memory that tasks may use: TaskInfo::memory_bytes limits a task's host memory, gpu_memory_bytes each of its
/// GPUs, and Budget::memory all of its devices together. host_memory_bytes limits the host memory of all tasks of a
/// host.
class MemoryLimits {
 public:
  /// The bytes that a task, or all tasks of a host together, need and may use.
  struct Need {
    std::size_t task = 0;  ///< the task; for a host, its task that needs the most
    std::int64_t needed = 0, allowed = 0;
    std::optional<std::uint32_t> device = {};  ///< a GPU, as index into PlanClass::devices
    const char* option = nullptr;              ///< the option that sets the limit: "--memory "; null for a host
    std::int64_t tasks = 1;                    ///< the number of tasks that share the allowed bytes

    /// Negative: the plan does not fit.
    [[nodiscard]] std::int64_t left() const { return allowed - needed; }
  };

  MemoryLimits(const Topology& topology, const Budget& budget) : topology_(topology), budget_(budget) {}

  /// Whether any task has a limit.
  [[nodiscard]] bool any() const;
  /// The need with the fewest bytes left(); of equal ones, the first task's, before hosts. Nothing if no device that
  /// the plan uses has a limit.
  [[nodiscard]] std::optional<Need> tightest(const Plan& plan) const;
  /// Whether all tasks have enough memory for the plan.
  [[nodiscard]] bool allow(const Plan& plan) const;
  /// The error for a graph if all placements need too much memory. `plan` needs the least, `need` is its tightest(),
  /// and `name` is its placement. The error has the largest values of the task with the user's lines.
  [[nodiscard]] Error refusal(const Plan& plan, const Need& need, const std::string& name) const;

 private:
  const Topology& topology_;
  const Budget budget_;
};

}  // namespace ferry
