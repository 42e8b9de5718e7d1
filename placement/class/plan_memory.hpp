// plan_memory: every buffer of a plan class gets its place in an arena.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Gives buffers of the step's arena that are never live together the same bytes. A buffer is live from the instruction
/// that first touches it to the one that last does; inside a loop, to the loop's end when it is touched outside of it
/// as well. The offset of a view, until then, is that in the buffer it is a view of. Best fit in order of first
/// touch; with one thread and few buffers by size (pack.hpp), where that takes less. Deterministic. Sets the devices'
/// step_bytes and state_bytes. Comes after place_strands.
void plan_memory(ClassPlan& plan);

}  // namespace ferry
