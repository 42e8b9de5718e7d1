// order_queues: adds waits where a class gives work to queues of devices. In the step, an instruction waits for the
// instructions of other strands with conflicting reads or writes, unless other waits imply it. So copies and messages
// overlap with kernels. In the setup and in bodies of loops and branches an instruction waits for the one before it if
// that is on another strand, a queue. The step's join waits for all queues.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

void order_queues(ClassPlan& plan);

}  // namespace ferry
