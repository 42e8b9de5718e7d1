// drop_identities: removes ops that return one of their inputs unchanged.
//
// Example (abridged):
//
//     %1 = Constant() float32[] once  # one
//     %2 = Mul(%1, %0) float32[4] @/task:0/cpu:0  # same
//     %3 = Div(%2, %1) float32[4] @/task:0/cpu:0  # also
//     %4 = Exp(%3) float32[4] @/task:0/cpu:0  # y
//
// becomes
//
//     %4 = Exp(%0) float32[4] @/task:0/cpu:0  # y
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Removes ops with a result that has the type, the bits and the devices of an input. Examples: x * 1, x / 1, casts,
/// broadcasts, slices and transposes that change nothing, reshapes to the same shape, and a transpose that undoes
/// another. Readers of the op read that input instead. x + 0 stays, because -0.0 + 0 is 0.0. Ops with a layout
/// annotation and ops that merge never merges stay. The pass takes linear time.
void drop_identities(Program& program);

}  // namespace ferry
