// update_variables: how variables take their new values at the end of a step.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Carries out ClassPlan::updates. Where nobody reads a variable's old value any more, the kernel that computes the new
/// one writes it into the variable; else a copy is added at the step's end. All variables change together: an old value
/// that becomes another variable's new one is first copied to a buffer of its own.
void update_variables(ClassPlan& plan);

}  // namespace ferry
