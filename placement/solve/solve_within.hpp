// solve_within: finds the choices of a problem with the least cost within a limit of memory.
#pragma once

#include <cstdint>

#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// Finds them by branch and bound. `known` are choices within the limit. Each set of choices gets a lower bound from
/// prices of memory: at any price, the memory of choices within the limit costs at most the price of the limit. The set
/// with the lowest bound is divided next, by the variable with the largest memory above its minimum. It calls solve()
/// about `solves` times; the bound is valid however small `solves` is.
[[nodiscard]] Solution solve_within(const Problem& problem, const MemoryUse& use, std::int64_t limit,
                                    const Solution& known, int solves);

}  // namespace ferry
