// update_variables: how variables take their new values at the end of a step.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

/// One assignment: a variable's buffer, the buffer of its new value, the copy that would set it.
struct VariableUpdate {
  std::uint32_t variable = kNone, value = kNone;
  Instruction instruction;
};

/// Completes `step`, the instructions of the step. Where nobody reads a variable's old value any more, the kernel that
/// computes the new one writes it into the variable; else a copy is added at the end. All variables change together:
/// the old value of one that becomes another's new value is taken away first.
void update_variables(PlanClass& plan, std::vector<Instruction>& step, std::vector<VariableUpdate> updates);

}  // namespace ferry
