// plan_memory: assigns a place in an arena to every buffer of a plan class.
//
// Example (abridged):
//
//     %0 x float32[100] step+0
//     %1 a float32[100] step+0
//     %3 s float32[] step+0
//     1 Exp a (%0) -> %1
//     3 Sum s (%2) -> %3
//
// becomes
//
//     %0 x float32[100] step+0
//     %1 a float32[100] step+0
//     %3 s float32[] step+448
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Lets buffers of the step's arena that are never live together share bytes. A buffer is live from the first
/// instruction that touches it to the last one. If it is touched inside and outside of a loop, a touch inside lasts to
/// the loop's end. Before this pass the offset of a view is relative to the buffer that it is a view of. Buffers are
/// placed by best fit in the order of first touch. With one thread and not too many buffers, they are placed by size
/// (pack.hpp) if that takes fewer bytes. Deterministic. Sets the devices' step_bytes and state_bytes. Must run after
/// place_strands.
void plan_memory(ClassPlan& plan);

}  // namespace ferry
