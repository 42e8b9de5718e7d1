// problem_text: the problem of layouts in the JSON format of the IOPDDL contest (github.com/google/iopddl), so that
// other solvers can solve it.
#pragma once

#include <span>

#include "placement/program/program.hpp"
#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// The nodes and edges of the problem, and the choices. Each variable is a node; its memory is the node's usage. The
/// format knows no memory of pairs, nor several intervals of one node: such memory has a node of its own after the
/// variables. Its choices are those of the variable, or the pairs of choices, and edges with kImpossible keep them
/// equal.
[[nodiscard]] ProblemText problem_text(const Problem& problem, const MemoryUse& memory,
                                       std::span<const std::uint32_t> choices);

}  // namespace ferry
