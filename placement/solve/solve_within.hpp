// solve_within: finds the choices of a problem with the least cost within a limit of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// The limits of the search. The bound is valid however small they are.
struct SearchLimits {
  int solves = 40;               ///< the approximate number of calls of solve()
  std::int64_t precision = 200;  ///< the search stops when value − bound is at most value / precision
};

/// The number of calls of solve(): `most`, or fewer for a large problem, so that calls × choices is at most `work`.
[[nodiscard]] int solves_for(const Problem& problem, std::size_t most, std::size_t work);

/// A solution without choices: none are known.
inline const Solution kNoSolution{{}, kImpossible, 0};

/// Finds them by branch and bound. `known` are choices within the limit, or kNoSolution. Each set of choices gets a
/// lower bound from prices of memory: at any price, the memory of choices within the limit costs at most the price of
/// the limit. The set with the lowest bound is divided next, by the variable with the largest memory above its minimum:
/// into the choices with at least this memory, and those with less. Returns `known` with a bound if it finds no better
/// choices.
[[nodiscard]] Solution solve_within(const Problem& problem, const MemoryUse& use, std::int64_t limit,
                                    const Solution& known, const SearchLimits& limits);

}  // namespace ferry
