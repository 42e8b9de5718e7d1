// solve_within: the choices of a problem that cost the least within a limit of memory.
#pragma once

#include <cstdint>

#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// Branch and bound. `known` are choices that fit. Each set of choices gets a lower bound from prices of memory: at any
/// price, memory costs choices that fit at most the price of the limit. The set with the lowest bound is divided by the
/// variable that takes the most memory beyond its least. It calls solve() about `solves` times; the bound holds however
/// few these are.
[[nodiscard]] Solution solve_within(const Problem& problem, const MemoryUse& use, std::int64_t limit,
                                    const Solution& known, int solves);

}  // namespace ferry
