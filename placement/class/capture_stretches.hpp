// capture_stretches: finds work that a device may be given as one from its second time on (PlanClass::stretches), which
// costs the host one call instead of one for each kernel. Such a stretch is as long as it can be, at least two
// instructions, and nothing in the middle of it waits for another strand or is waited for: so no work begins or is seen
// later than without it. It adds no wait and moves no instruction. The setup, which runs once, has none.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Comes after order_queues.
void capture_stretches(ClassPlan& plan);

}  // namespace ferry
