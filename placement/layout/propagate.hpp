// propagate: carries layouts backwards, from users to producers. If a value would be replicated by its op's inputs, but
// every user takes a part along the same dim, the value gets a hint for these parts. Then its op computes only a part,
// and its inputs can get hints in the same way. So an annotation reaches the values from which the annotated value is
// computed, and a feed is scattered rather than broadcast. The pass starts from the layouts that reshard would choose,
// which it finds in a forward walk without adding nodes.
//
// A hint is not binding: reshard includes it in the costs of an op's layouts, and adds no conversion because of it. A
// value that some user needs whole has no hint. A variable has none either, because it has its annotated layout in
// every plan of a session.
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
