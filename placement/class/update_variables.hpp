// update_variables: gives variables their new values at the end of a step, and carried values theirs at the end of an
// iteration.
//
// Example (abridged):
//
//     %0 w float32[4] state+0
//     %2 next float32[4] step+0
//     1 Sub next (%0, %1) -> %2
//     update %0 to %2: copy of set
//
// becomes
//
//     1 Sub next (%0, %1) -> %0
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Carries out ClassPlan::updates. Where nobody reads a variable's old value any more, the kernel that computes the new
/// one writes it into the variable; else a copy is added at the step's end. All variables change together: an old value
/// that becomes another variable's new one is first copied to a buffer of its own.
///
/// In a loop's body, a kernel that changes some elements of a carried value (ScatterND, say) writes its output over the
/// value where nothing reads the old one any more. Without it each iteration copies the whole value.
void update_variables(ClassPlan& plan);

}  // namespace ferry
