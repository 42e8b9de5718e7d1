// propagate: carries layouts backwards, from users to makers. If a value would be whole by its op's inputs but every
// user takes a part along the same dim, the value gets a hint for these parts. Its op then computes only a part, and
// asks the same of its own inputs. So an annotation reaches the values from which the annotated one is made, and a feed
// is scattered rather than broadcast. The pass starts from the layouts that reshard would choose, which it finds in a
// forward walk without adding nodes.
//
// A hint is not binding: reshard counts it among the costs of an op's layouts, and converts nothing because of it.
// There are none for values that some user wants whole, nor for variables, which lie as annotated in every plan of a
// session.
//
// Example (abridged):
//
//     %0 = Input() float32[8,3] @/task:0/cpu:0  # x
//     %1 = Tanh(%0) float32[8,3] @mesh[2]/cpu:0{0-1}  # a
//     %2 = Neg(%1) float32[8,3] @mesh[2]/cpu:0{0-1}  # b, annotated split(0)
//
// becomes
//
//     %0 = Input() float32[8,3] @/task:0/cpu:0  # x
//     %1 = Tanh(%0) float32[8,3] wanted[S(0)] @mesh[2]/cpu:0{0-1}  # a
//     %2 = Neg(%1) float32[8,3] @mesh[2]/cpu:0{0-1}  # b
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Fills Program::hints.
void propagate(Program& program);

}  // namespace ferry
