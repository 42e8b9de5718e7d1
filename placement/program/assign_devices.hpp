// assign_devices: assigns devices to every node. Annotations come first. An assign goes with its variable. An op
// without an annotation goes to the mesh of an input, else to the device that moves the fewest bytes. A constant
// without an annotation is made wherever it is used.
//
// Example (abridged):
//
//     %0 = Constant() float32[3]  # a, annotated /task:0
//     %1 = Constant() float32[3]  # b, annotated /task:1
//     %2 = Add(%0, %1) float32[3]  # c, annotated /task:2
//     %3 = Constant() float32[]  # one
//
// becomes
//
//     %0 = Constant() float32[3] @/task:0/cpu:0 once  # a
//     %1 = Constant() float32[3] @/task:1/cpu:0 once  # b
//     %2 = Add(%0, %1) float32[3] @/task:2/cpu:0  # c
//     %3 = Constant() float32[] once  # one
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Throws Error(plan), which names an op, if its devices do not exist or have no kernel for it.
void assign_devices(Program& program);

}  // namespace ferry
