// Problem: variables with a few choices each, and costs of single choices and of pairs. It has no types of ferry's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ferry {

/// The cost of a choice that is not possible. It is larger than any sum of possible costs may be, and a thousand of
/// them can be added.
constexpr std::int64_t kImpossible = 4'000'000'000'000'000;

/// The sum of two costs; kImpossible if one is.
[[nodiscard]] constexpr std::int64_t add_costs(std::int64_t a, std::int64_t b) {
  return a + b < kImpossible ? a + b : kImpossible;
}

/// Choose one choice of each variable so that the sum of all costs is the least. Costs are 0 or more, at most
/// kImpossible.
struct Problem {
  struct Edge {
    std::uint32_t a = 0, b = 0;       ///< variables; a < b; at most one edge for each pair
    std::vector<std::int64_t> costs;  ///< costs[choice of a × choices of b + choice of b]
  };
  std::vector<std::vector<std::int64_t>> costs;  ///< of each variable: of each choice, at least one
  std::vector<Edge> edges;

  /// Adds a variable with these costs; returns its number.
  std::uint32_t add(std::vector<std::int64_t> of_choices) {
    costs.push_back(std::move(of_choices));
    return static_cast<std::uint32_t>(costs.size() - 1);
  }
  /// The sum of all costs of these choices, one for each variable.
  [[nodiscard]] std::int64_t value(std::span<const std::uint32_t> choices) const;
};

/// The work that the solver does at most.
struct SolveLimits {
  int passes = 200;       ///< of message passing
  double table = 20'000;  ///< entries of the largest table of exact elimination
  /// The solver is content when value − bound is at most this part of the bound.
  std::int64_t precision = 1'000;
};

struct Solution {
  std::vector<std::uint32_t> choices;  ///< one for each variable
  std::int64_t value = 0;              ///< the sum of their costs
  std::int64_t bound = 0;              ///< no solution costs less; certified by arithmetic on integers
};

/// Solves the problem. The same problem has the same solution on every machine, because limits count passes and not
/// time. Dominated choices and variables with up to two neighbours are eliminated exactly. On the rest, sequential
/// tree-reweighted message passing gives a lower bound and candidates (Kolmogorov, "Convergent Tree-Reweighted Message
/// Passing for Energy Minimization", PAMI 2006); at last the choices that it finds nearly best are eliminated exactly.
[[nodiscard]] Solution solve(const Problem& problem, const SolveLimits& limits = {});

}  // namespace ferry
