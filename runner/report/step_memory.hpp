// StepMemory: the memory that a step of a plan needs in a device's arena, instruction by instruction, and its curve
// over the time of a traced step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "runner/report/traced_run.hpp"

namespace ferry {

/// The memory of a step on one device of one task.
struct StepMemory {
  struct Value {
    std::string text;  ///< "grad/w float32[784,128]"
    std::string line;  ///< the user's line
    std::uint64_t bytes = 0;
    std::uint32_t first = 0, last = 0;  ///< indices into `names`: the first and the last instruction that touch it
    bool reused_in_place = false;       ///< the last instruction makes another value in its place
  };
  int task = 0;
  std::string tasks;               ///< all tasks of this role: "tasks 0-3"
  std::string device;              ///< "gpu:0"
  std::uint64_t arena = 0;         ///< bytes for setup and step
  std::uint64_t planned = 0;       ///< bytes of the arena up to the end of the step's last value
  std::vector<std::string> names;  ///< names of the step's instructions, as in a trace
  std::vector<Value> values;
};

/// A StepMemory for each device of each class of the plan that has values there, for at most PlanDrawing::kMostRoles
/// classes. The values inside a loop or branch count as one value, with the most bytes that they need at one time.
/// Tiles and values kept from step to step are not counted.
[[nodiscard]] std::vector<StepMemory> step_memories(const Plan& plan);

/// The memory in use: bytes[i] from times[i] on, in nanoseconds from the begin of the step.
struct MemoryCurve {
  std::int64_t duration = 0;
  std::vector<std::int64_t> times;
  std::vector<std::uint64_t> bytes;
  std::vector<const StepMemory::Value*> largest;  ///< values at the time of the most bytes, at most kMostLargest
};
inline constexpr std::size_t kMostLargest = 8, kMostMemoryPoints = 4096;

/// The curve of the last traced step of the task with the plan of this fingerprint; none if there is no such step.
[[nodiscard]] std::optional<MemoryCurve> memory_curve(const StepMemory& memory, const TracedRun& run,
                                                      const std::string& fingerprint);

}  // namespace ferry
