// choose_layouts: chooses the layouts of all ops on the mesh of placement by itself, all at once.
//
// Example (abridged), on a mesh of two tasks:
//
//     %2 = MatMul(%0, %1) float32[2048,512] @mesh[2]/cpu:0  # y
//     %6 = Sum(%5) float32[] @mesh[2]/cpu:0  # s
//
// becomes
//
//     %2 = MatMul(%0, %1) float32[2048,512] @mesh[2]/cpu:0 by [S(0)] [R] -> [S(0)]  # y
//     %6 = Sum(%5) float32[] @mesh[2]/cpu:0 by [S(0)] -> [P(sum)]  # s
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Fills Program::chosen with the layouts that take the least time by the model (model.hpp). Does nothing for a program
/// without an AutoMesh.
void choose_layouts(Program& program);

}  // namespace ferry
