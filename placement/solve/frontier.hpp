// frontier: choices that take less and less memory, and more and more time.
#pragma once

#include <cstdint>

#include "placement/program/layout_frontier.hpp"
#include "placement/solve/memory_use.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {

/// Solves the problem at several prices of memory. The first price is 0. At the second, the memory of the fastest
/// choices costs a part of their time; each further price is four times the one before. Then prices follow between
/// neighbours that differ the most in memory. A point is added to the prices where choices take the most memory. If the
/// costs of two neighbouring solutions differ much, solve_within() adds solutions between them.
///
/// All of this depends on the problem alone and not on a limit of memory. So a smaller limit never finds better choices
/// than a larger one.
[[nodiscard]] LayoutFrontier frontier(const Problem& problem, const MemoryUse& use);

/// A lower bound of the cost of all choices that take at most `most` bytes, because at any price that memory costs them
/// at most the price of `most`.
[[nodiscard]] std::int64_t bound_within(const LayoutFrontier& frontier, std::int64_t most);

}  // namespace ferry
