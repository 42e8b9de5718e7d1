// pack_inputs: what kernels of the step read in another form, and is the same in every step, is packed in the setup.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Puts the instructions of ClassPlan::packing into the setup, each right after what makes the buffer that it packs, so
/// that the buffer's bytes are free again as soon as they may be.
void pack_inputs(ClassPlan& plan);

}  // namespace ferry
