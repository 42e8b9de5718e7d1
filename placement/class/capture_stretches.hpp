// capture_stretches: finds work that a device may be given as one from its second time on (PlanClass::stretches), which
// costs the host one call instead of one for each kernel. A stretch is as long as possible, and at least two
// instructions. Inside it, no instruction waits for another strand, and no other strand waits for one. So no work
// begins or is seen later than without the stretch. It adds no wait and moves no instruction. The setup, which runs
// once, has none.
//
// Example (abridged):
//
//     3 gpu:0.compute MatMul a (%7, %7) -> %2  after gpu:0.in:1
//     4 gpu:0.compute MatMul b (%2, %2) -> %3
//     6 gpu:0.compute MatMul c (%3, %8) -> %4  after gpu:0.in:2
//
// becomes
//
//     captured: the next 2 on gpu:0.compute
//     3 gpu:0.compute MatMul a (%7, %7) -> %2  after gpu:0.in:1
//     4 gpu:0.compute MatMul b (%2, %2) -> %3
//     6 gpu:0.compute MatMul c (%3, %8) -> %4  after gpu:0.in:2
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Comes after order_queues.
void capture_stretches(ClassPlan& plan);

}  // namespace ferry
