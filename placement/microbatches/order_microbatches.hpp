// order_microbatches: where a graph has microbatches (ops/train/pipeline.hpp), puts the nodes of each region into the
// order that the pipeline's schedule has on the devices where they are.
//
// Devices that work together on one value are one; a stage is what one of them does before a value goes to another.
// What belongs to no microbatch comes as soon as it can where it depends on some, such as sums of gradients, or else
// when it is needed. Nodes keep their order within a stage, and those with an effect keep it among each other. Nothing
// else is changed: no node, value or message. Where work of a microbatch waits for itself by way of values of others
// the region is left as it is, with a warning.
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
