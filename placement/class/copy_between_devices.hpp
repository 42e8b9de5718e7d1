// copy_between_devices: where a class has devices besides the host, each instruction gets its operands where it runs.
// Kernels run where their values lie; messages, feeds, fetches and conditions are the host's. So a value that is needed
// elsewhere is copied, once to each device as long as it stays the same; a value of the setup in the setup. Copies are
// instructions of the device's queues, as its kernels are, and every region that gives queues work ends with a join.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

void copy_between_devices(ClassPlan& plan);

}  // namespace ferry
