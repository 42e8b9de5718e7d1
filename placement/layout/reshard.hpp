// reshard: gives every value its layout, and inserts the nodes that bring values to the devices and layouts where they
// are used (Converter has the cases). After this pass, the inputs of a node are on the devices and in the layouts that
// it needs. One device of a mesh may read a replicated value of that mesh.
//
// Example (abridged):
//
//     %0 = Constant() float32[3] @/task:0/cpu:0 once  # a
//     %1 = Constant() float32[3] @/task:1/cpu:0 once  # b
//     %2 = Add(%0, %1) float32[3] @/task:2/cpu:0  # c
//
// becomes
//
//     %0 = Constant() float32[3] @/task:0/cpu:0 once  # a
//     %1 = Constant() float32[3] @/task:1/cpu:0 once  # b
//     %3 = transfer(%0) float32[3] @/task:2/cpu:0  # a
//     %4 = transfer(%1) float32[3] @/task:2/cpu:0  # b
//     %2 = Add(%3, %4) float32[3] @/task:2/cpu:0  # c
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Throws Error(plan), which names the op, if an op cannot have its annotated layouts.
void reshard(Program& program);

}  // namespace ferry
