// order_microbatches: if a graph has microbatches (ops/train/pipeline.hpp), puts the nodes of each region into the
// order that the pipeline's schedule has on their devices.
//
// Devices that compute a value together count as one device. A stage is the work of one such device until a value goes
// to another. A node that belongs to no microbatch but depends on one, such as a sum of gradients, comes as early as
// possible; other such nodes come when they are needed. Nodes keep their order within a stage, and nodes with an effect
// keep their order among each other. The pass changes nothing else: no node, value or message. If work of a microbatch
// waits for itself through values of other microbatches, the region keeps its order, with a warning.
//
// Example (abridged), with the schedule 1f1b:
//
//     %3 = Exp(%1) float32[2] @/task:0/cpu:0  # f2
//     %8 = Exp(%6) float32[2] @/task:0/cpu:0  # f1
//     %13 = Exp(%11) float32[2] @/task:0/cpu:0  # f0
//     %18 = Mul(%30, %13) float32[2] @/task:0/cpu:0  # df0, the way back of microbatch 0
//
// becomes
//
//     %13 = Exp(%11) float32[2] @/task:0/cpu:0  # f0
//     %8 = Exp(%6) float32[2] @/task:0/cpu:0  # f1
//     %18 = Mul(%30, %13) float32[2] @/task:0/cpu:0  # df0
//     %3 = Exp(%1) float32[2] @/task:0/cpu:0  # f2
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

void order_microbatches(Program& program);

}  // namespace ferry
