// pack_inputs: packs values in the setup, once, if kernels of the step read them in a packed form and they are the same
// in every step. The instructions that pack variables come last: they run again when another plan has changed the
// variable (plan/variable_packing.hpp).
//
// Example (abridged):
//
//     setup
//       1 BroadcastTo f (%1) -> %2
//     step
//       1 Conv2D y (%0, %2, %4) -> %3
//     pack %2: PackedFilter y (%2) -> %4
//
// becomes
//
//     setup
//       1 BroadcastTo f (%1) -> %2
//       2 PackedFilter y (%2) -> %4
//     step
//       1 Conv2D y (%0, %2, %4) -> %3
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Puts the instructions of ClassPlan::packing into the setup, each right after the instruction that makes the buffer
/// that it packs, so that the buffer's bytes can be reused early; for variables at the end.
void pack_inputs(ClassPlan& plan);

}  // namespace ferry
