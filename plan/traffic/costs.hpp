// Costs: what a step of a plan moves and keeps, by value and user's line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// What a transfer or collective sends in a step, over all tasks; what members give to a collective of GPUs' library.
struct MessageCost {
  std::string name;  ///< of the value
  SourceLine line;
  std::int64_t messages = 0, bytes = 0;
};

/// The transfers, then the collectives, of the step, in the plan's order; both sides of a branch, and a loop's body
/// once. Linear in the plan, the members of its collectives and the steps of their schedules. Thread-safe.
[[nodiscard]] std::vector<MessageCost> message_costs(const Plan& plan);

/// The copies of a step over all tasks, counted alike. The plan has passed the verifier.
[[nodiscard]] std::int64_t copies_of(const Plan& plan);

/// Bytes of the arenas of the class, on all of its devices; the largest number there is if they are more.
[[nodiscard]] std::uint64_t memory_of(const PlanClass& role);

}  // namespace ferry
