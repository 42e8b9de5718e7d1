// Costs: the messages, copies and memory of a step of a plan, by value and user's line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The messages of a transfer or collective in a step, over all tasks. For a collective of the GPUs' library, `bytes`
/// are those that members give to it.
struct MessageCost {
  std::string name;  ///< name of the value
  SourceLine line;
  std::int64_t messages = 0, bytes = 0;
};

/// The costs of the step's transfers, then of its collectives, in the plan's order. Both sides of a branch count, and a
/// loop's body counts once. Takes time linear in the plan, the members of its collectives and the steps of their
/// schedules. Thread-safe.
[[nodiscard]] std::vector<MessageCost> message_costs(const Plan& plan);

/// The copies of a step over all tasks, counted in the same way. The plan must have passed the verifier.
[[nodiscard]] std::int64_t copies_of(const Plan& plan);

/// Bytes of the arenas of the class on all of its devices. The sum saturates at the largest number.
[[nodiscard]] std::uint64_t memory_of(const PlanClass& role);

}  // namespace ferry
