// order_queues: what waits for what where a class gives queues of devices work. In the step an instruction waits for
// those of other strands that it must come after by what they read and write, unless an earlier wait implies it; so
// copies and messages run beside kernels. In the setup and in bodies of loops and branches each instruction waits for
// the one before it. A join waits for all queues.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

void order_queues(ClassPlan& plan);

}  // namespace ferry
