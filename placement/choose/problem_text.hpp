// problem_text: the problem of layouts in the JSON format of the IOPDDL contest (github.com/google/iopddl), so that
// other solvers can solve it.
#pragma once

#include <span>

#include "placement/program/program.hpp"
#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// The nodes and edges of the problem, and the choices. Each variable is a node; its memory is the node's usage. The
/// format has no memory of pairs of variables, and only one interval for a node. Such memory is an additional node
/// after the variables. Its choices are the choices of the variable, or the pairs of choices of the two variables;
/// edges with kImpossible keep them equal to these variables.
[[nodiscard]] ProblemText problem_text(const Problem& problem, const MemoryUse& memory,
                                       std::span<const std::uint32_t> choices);

/// The file of the program's problem and its solution. `bound` is in picoseconds; `limit` is the memory in bytes that
/// the choices may take, if there is a limit.
[[nodiscard]] std::string problem_file(const Program& program, const std::string& name, std::int64_t bound,
                                       std::optional<std::int64_t> limit);

}  // namespace ferry
