// copy_between_devices: if a class has devices besides the host, adds copies so that each instruction has its operands
// on the device that it runs on. Kernels run where their outputs lie, and collectives of GPUs there; other messages,
// feeds, fetches and conditions need host memory. A value that is needed elsewhere is copied once to each device until
// it is written again; a value that only the setup writes is copied in the setup. Copies and kernels are instructions
// of the devices' queues, and every region that gives queues work ends with a join.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

void copy_between_devices(ClassPlan& plan);

}  // namespace ferry
