// merge: computes equal ops on the same devices once.
//
// Example (abridged):
//
//     %3 = Mul(%0, %1) float32[4] @/task:0/cpu:0  # a
//     %4 = Mul(%0, %2) float32[4] @/task:0/cpu:0  # b, where %2 is a constant equal to %1
//     %5 = Exp(%3) float32[4] @/task:0/cpu:0  # c
//     %6 = Exp(%4) float32[4] @/task:0/cpu:0  # d
//     %7 = Add(%5, %6) float32[4] @/task:0/cpu:0  # y
//
// becomes
//
//     %3 = Mul(%0, %1) float32[4] @/task:0/cpu:0  # a
//     %5 = Exp(%3) float32[4] @/task:0/cpu:0  # c
//     %7 = Add(%5, %5) float32[4] @/task:0/cpu:0  # y
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Removes each op that has the definition, attributes, inputs, devices and annotation of an earlier op of its region;
/// readers of the op read the earlier op instead. So no value is computed on other devices than before, and no
/// additional value is sent. It never merges ops with state, an effect, random numbers or bodies, ops that run after
/// others, copies that the backward pass computes again to save memory (Graph::remade), and constants of more than 64
/// KiB. The pass takes linear time.
void merge(Program& program);

}  // namespace ferry
