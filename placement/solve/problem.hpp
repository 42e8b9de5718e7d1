// Problem: variables with a few choices each, and costs of single choices and of pairs. It uses no types of ferry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ferry {

/// The cost of an impossible choice. It is larger than any sum of possible costs, and a sum of a thousand such costs
/// does not overflow.
constexpr std::int64_t kImpossible = 4'000'000'000'000'000;

/// The sum of two costs; kImpossible if one of them is.
[[nodiscard]] constexpr std::int64_t add_costs(std::int64_t a, std::int64_t b) {
  return a + b < kImpossible ? a + b : kImpossible;
}

/// The problem of choosing one choice for each variable so that the sum of all costs is minimal. Costs are between 0
/// and kImpossible.
struct Problem {
  struct Edge {
    std::uint32_t a = 0, b = 0;       ///< variables; a < b; at most one edge for each pair
    std::vector<std::int64_t> costs;  ///< costs[choice of a × choices of b + choice of b]
  };
  std::vector<std::vector<std::int64_t>> costs;  ///< for each variable, the cost of each choice; at least one choice
  std::vector<Edge> edges;

  /// Adds a variable with these costs; returns its index.
  std::uint32_t add(std::vector<std::int64_t> of_choices) {
    costs.push_back(std::move(of_choices));
    return static_cast<std::uint32_t>(costs.size() - 1);
  }
  /// The sum of all costs of `choices`, which has one choice for each variable.
  [[nodiscard]] std::int64_t value(std::span<const std::uint32_t> choices) const;
};

/// The limits of the solver's work.
struct SolveLimits {
  int passes = 200;       ///< passes of message passing
  double table = 20'000;  ///< entries of the largest table of exact elimination
  /// The solver stops when value − bound is at most bound / precision.
  std::int64_t precision = 1'000;
};

struct Solution {
  std::vector<std::uint32_t> choices;  ///< one for each variable
  std::int64_t value = 0;              ///< the sum of their costs
  std::int64_t bound = 0;              ///< no solution costs less; proved by integer arithmetic
};

/// Solves the problem. The same problem has the same solution on every machine, because the limits count passes, not
/// time. Dominated choices and variables with up to two neighbours are eliminated exactly. On the rest, sequential
/// tree-reweighted message passing gives a lower bound and candidates (Kolmogorov, "Convergent Tree-Reweighted Message
/// Passing for Energy Minimization", PAMI 2006); finally the choices that are nearly best by message passing are
/// searched by exact elimination.
[[nodiscard]] Solution solve(const Problem& problem, const SolveLimits& limits = {});

}  // namespace ferry
