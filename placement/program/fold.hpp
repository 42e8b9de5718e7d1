// fold: what follows from constants alone is computed when planning.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Makes constants of the ops that read nothing but constants, by PlanOptions::evaluate: those that only move elements,
/// and those on which all processors agree (kExact), so that every task and every machine makes the same plan. Of an
/// input of which an op uses only the sizes, no constant is asked. A result has at most 4 KiB or the bytes of the
/// inputs, and these at most 1 MiB; it is finite, so that --check-numerics still finds the op that makes the first
/// number that is not. A constant that the user has placed is where the user wants it: only ops on its devices are
/// folded with it. Where no annotation places op or inputs, the value is then made wherever it is used. Not folded are
/// the ops that merge leaves alone. Linear, without the time of the kernels.
void fold(Program& program);

}  // namespace ferry
