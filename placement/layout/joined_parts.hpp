// Joined parts: a concatenation of one part of each task of a mesh, in the order of the mesh.
//
// Example (abridged): each task has 50 rows, and the concatenation has them all.
//
//     %2 = Concat(%0, %1) float32[100,3] @mesh[2]/cpu:0  # %0 is on /task:0, %1 on /task:1
//
// Each task's input is its part of the split output, so no message is necessary:
//
//     %2 = copy(%0, %1) float32[100,3] [S(0)] @mesh[2]/cpu:0
#pragma once

#include <span>

#include "graph/types/layout.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// If each task of the node's mesh keeps its input as its part of the output: the layout of the output. Else an empty
/// layout. `inputs` are the values that the node joins; the k-th must be on the k-th device of the mesh, and as large
/// as the part of the k-th task.
[[nodiscard]] Layout layout_of_joined_parts(const Program& program, const Node& node, std::span<const PValueId> inputs);

/// Whether the node is such a concatenation, which reshard has made a copy.
[[nodiscard]] bool joins_parts(const Program& program, const Node& node);

}  // namespace ferry
