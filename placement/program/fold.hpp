// fold: computes ops that read only constants at planning time.
//
// Example (abridged):
//
//     %4 = Sub(%3, %2) float32[4] @/task:0/cpu:0 once  # c, of two constants
//     %5 = Neg(%4) float32[4] @/task:0/cpu:0 once  # d
//     %7 = Mul(%1, %5) float32[4] @/task:1/cpu:0  # here
//
// becomes
//
//     %5 = Constant() {value tensor float32[4](-9,-18,-27,-36)} float32[4] once  # d
//     %7 = Mul(%1, %5) float32[4] @/task:1/cpu:0  # here
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Replaces ops that read only constants by constants, using PlanOptions::evaluate. It folds only ops that move
/// elements and ops with the same result on all processors (kExact), so that every task and every machine makes the
/// same plan. An input that is used only for its sizes need not be a constant. A result has at most 4 KiB or the bytes
/// of the inputs, and the inputs have at most 1 MiB. A result is finite, so that --check-numerics still finds the op
/// that makes the first number that is not finite. A constant that the user has placed on devices is folded only into
/// ops on the same devices. If no annotation places the op or its inputs, the result is made wherever it is used. Ops
/// that merge never merges are not folded. The pass takes linear time, in addition to the time of the kernels.
void fold(Program& program);

}  // namespace ferry
