// capture_stretches: finds stretches of instructions that a device can capture (as a CUDA graph) and then run as one
// (PlanClass::stretches). From the second run on, the host makes one call for a stretch instead of one for each kernel.
// A stretch is as long as possible, and has at least two instructions. Only its first instruction may wait for another
// strand, and another strand may wait only for its last instruction. So the stretch delays no work. The pass adds no
// wait and moves no instruction. The setup has no stretches, because it runs once.
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

/// Must run after order_queues.
void capture_stretches(ClassPlan& plan);

}  // namespace ferry
