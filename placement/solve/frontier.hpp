// frontier: finds a series of solutions with decreasing memory and increasing cost.
#pragma once

#include <cstdint>

#include "placement/program/layout_frontier.hpp"
#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// Solves the problem at several prices of memory. The first price is 0, with `fastest` as solution. At the second
/// price, the memory of the fastest choices costs a sixteenth of their time; each further price is four times the price
/// before. Then it solves at prices between the two neighbours that differ the most in memory. Memory is priced at the
/// points of the step where choices take the most memory. If the costs of two neighbouring solutions differ much,
/// solve_within() adds solutions between them.
///
/// All of this depends only on the problem, not on a limit of memory. So a smaller limit never finds better choices
/// than a larger limit.
[[nodiscard]] LayoutFrontier frontier(const Problem& problem, const MemoryUse& use, const Solution& fastest);

/// A lower bound of the costs of all choices that take at most `most` bytes. It is valid because, at any price, the
/// memory of these choices costs at most the price of `most` bytes.
[[nodiscard]] std::int64_t bound_within(const LayoutFrontier& frontier, std::int64_t most);

}  // namespace ferry
