// order_queues: adds waits to a class that gives work to queues of devices. In the step, an instruction waits for the
// instructions of other strands with conflicting reads or writes, unless other waits imply this. So copies and messages
// overlap with kernels. In the setup and in bodies of loops and branches, an instruction waits for the previous one if
// that is on another strand and on a queue. The step's join waits for all queues.
//
// Example (abridged):
//
//     2 gpu:0.in copy (%0) -> %5
//     3 gpu:0.compute Neg a (%5) -> %2
//     7 gpu:0.out copy (%2) -> %7
//     8 t0 fetch a (%7)
//
// becomes
//
//     2 gpu:0.in copy (%0) -> %5
//     3 gpu:0.compute Neg a (%5) -> %2  after gpu:0.in:1
//     7 gpu:0.out copy (%2) -> %7  after gpu:0.compute:1
//     8 t0 fetch a (%7)  after gpu:0.out:1
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

void order_queues(ClassPlan& plan);

}  // namespace ferry
