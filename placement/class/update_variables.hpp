// update_variables: sets variables to their new values at the end of a step, and carried values at the end of an
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

/// Applies ClassPlan::updates. If no later instruction reads a variable's old value, the kernel that computes the new
/// value writes it into the variable; else a copy is added at the end of the step. All variables change together: an
/// old value that becomes another variable's new value is first copied to its own buffer.
///
/// In a loop's body, a kernel that changes some elements of a carried value (such as ScatterND) writes its output over
/// the value if no later instruction reads the old value. Otherwise each iteration would copy the whole value.
void update_variables(ClassPlan& plan);

/// Marks large copies at the end of loop bodies that may swap their buffers (Instruction::swaps). A loop that swaps has
/// no loops and branches inside, its class has no queues, and no collective touches the two buffers. The result of the
/// body must be used nowhere else. Call it after the last pass that moves instructions, before plan_memory.
void swap_carried(ClassPlan& plan);

}  // namespace ferry
