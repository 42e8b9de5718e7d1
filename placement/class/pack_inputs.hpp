// pack_inputs: values that kernels of the step read in a packed form, and that are the same in every step, are packed
// once, in the setup.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Puts the instructions of ClassPlan::packing into the setup, each right after the instruction that makes the buffer
/// that it packs, so that the buffer's bytes can be reused early.
void pack_inputs(ClassPlan& plan);

}  // namespace ferry
