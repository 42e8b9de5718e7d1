// The solver of problems: its choices against all choices, and its bound.
#include <doctest/doctest.h>

#include <limits>

#include "placement/solve/problem.hpp"
#include "tests/support/dice.hpp"

namespace ferry {
namespace {

/// A problem of a few variables with up to four choices each; some costs are impossible.
Problem random_problem(test::Dice& dice) {
  Problem problem;
  const auto cost = [&](std::int64_t one_in) {
    return dice.below(one_in) == 0 ? kImpossible : static_cast<std::int64_t>(dice.below(100));
  };
  const std::uint32_t variables = 2 + static_cast<std::uint32_t>(dice.below(6));
  for (std::uint32_t v = 0; v < variables; ++v) {
    std::vector<std::int64_t> costs(1 + dice.below(4));
    for (std::int64_t& one : costs) one = cost(8);
    costs[0] = static_cast<std::int64_t>(dice.below(100));
    problem.add(std::move(costs));
  }
  for (std::uint32_t a = 0; a < variables; ++a)
    for (std::uint32_t b = a + 1; b < variables; ++b) {
      if (dice.below(2) == 0) continue;
      Problem::Edge edge{a, b, std::vector<std::int64_t>(problem.costs[a].size() * problem.costs[b].size())};
      for (std::int64_t& one : edge.costs) one = cost(9);
      problem.edges.push_back(std::move(edge));
    }
  return problem;
}

/// The least cost of all combinations of choices.
std::int64_t least_of_all(const Problem& problem) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<std::uint32_t> choices(problem.costs.size());
  for (std::size_t at = 0; at < choices.size();) {
    least = std::min(least, problem.value(choices));
    for (at = 0; at < choices.size() && ++choices[at] == problem.costs[at].size(); ++at) choices[at] = 0;
  }
  return least;
}

TEST_CASE("the solver finds the least cost of small problems") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    test::Dice dice(seed);
    const Problem problem = random_problem(dice);
    const Solution solution = solve(problem);
    CAPTURE(seed);
    CHECK(solution.value == problem.value(solution.choices));
    CHECK(solution.value == least_of_all(problem));
    CHECK(solution.bound == solution.value);
  }
}

TEST_CASE("the bound of message passing holds, and its choices are near it") {
  std::int64_t best = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    test::Dice dice(seed);
    const Problem problem = random_problem(dice);
    const Solution solution = solve(problem, {.passes = 60, .table = 1});  // no table for exact elimination
    const std::int64_t least = least_of_all(problem);
    CAPTURE(seed);
    CHECK(solution.value == problem.value(solution.choices));
    CHECK(solution.bound <= least);
    CHECK(solution.value >= least);
    best += solution.value == least ? 1 : 0;
  }
  CHECK(best > 480);
}

TEST_CASE("the solver proves the optimum of a long chain with side paths") {
  test::Dice dice(7);
  Problem problem;
  for (std::uint32_t v = 0; v < 5000; ++v) {
    std::vector<std::int64_t> costs(5);
    for (std::int64_t& one : costs) one = static_cast<std::int64_t>(dice.below(1000));
    problem.add(std::move(costs));
    for (const std::uint32_t back : {1U, 17U}) {
      if (v < back || (back == 17 && v % 3 != 0)) continue;
      Problem::Edge edge{v - back, v, std::vector<std::int64_t>(25)};
      for (std::int64_t& one : edge.costs) one = static_cast<std::int64_t>(dice.below(1000));
      problem.edges.push_back(std::move(edge));
    }
  }
  const Solution solution = solve(problem);
  CHECK(solution.value >= solution.bound);
  CHECK(solution.value - solution.bound <= solution.bound / 200);
  CHECK(solve(problem).choices == solution.choices);
}

}  // namespace
}  // namespace ferry
