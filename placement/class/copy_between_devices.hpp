// copy_between_devices: if a class has devices besides the host, adds copies so that each instruction has its operands
// on the device that it runs on. A kernel runs on the device of its outputs, and a collective of GPUs on its GPUs.
// Other messages, feeds, fetches and conditions need host memory. A value is copied once to each device that needs it,
// until it is written again. A value that only the setup writes is copied in the setup. Copies and kernels are
// instructions of the devices' queues, and every region that gives queues work ends with a join.
//
// Example (abridged):
//
//     %0 x float32[8] step+0 device 0
//     %1 a float32[8] step+0 device 1
//     1 Neg a (%0) -> %1
//     3 fetch a (%1)
//
// becomes
//
//     1 gpu:0.in copy (%0) -> %3
//     2 gpu:0.compute Neg a (%3) -> %1
//     4 gpu:0.out copy (%1) -> %4
//     5 t0 fetch a (%4)
//     9 t0 join
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

void copy_between_devices(ClassPlan& plan);

}  // namespace ferry
