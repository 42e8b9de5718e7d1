// fold: computes ops that read only constants while planning.
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

/// Replaces ops that read only constants by constants, using PlanOptions::evaluate. It does so for ops that only move
/// elements and for ops that all processors compute alike (kExact), so that every task and every machine makes the same
/// plan. An input that is used only for its sizes need not be a constant. A result has at most 4 KiB or the bytes of
/// the inputs, and the inputs have at most 1 MiB. A result is finite, so that --check-numerics still finds the op that
/// makes the first number that is not finite. A constant that the user has placed is where the user wants it: only ops
/// on its devices are folded with it. Where no annotation places op or inputs, the value is then made wherever it is
/// used. It does not fold ops that merge leaves alone. Linear, without the time of the kernels.
void fold(Program& program);

}  // namespace ferry
