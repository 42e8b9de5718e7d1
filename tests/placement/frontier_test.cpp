// Choices that take less memory: the bounds of the frontier against all choices.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "placement/solve/frontier.hpp"
#include "placement/solve/solve_within.hpp"
#include "tests/support/dice.hpp"

namespace ferry {
namespace {

struct Limited {
  Problem problem;
  MemoryUse use;
};

/// A chain of variables where faster choices take more memory, in intervals at random, and some pairs take memory, too.
Limited random_limited(test::Dice& dice) {
  Limited made;
  const std::uint32_t variables = 3 + static_cast<std::uint32_t>(dice.below(4));
  for (std::uint32_t v = 0; v < variables; ++v) {
    std::vector<std::int64_t> costs, bytes;
    for (std::int64_t choice = 0; choice < 3; ++choice) {
      costs.push_back(choice * 1000 + static_cast<std::int64_t>(dice.below(900)));
      bytes.push_back((3 - choice) * 4096 + static_cast<std::int64_t>(dice.below(4000)));
    }
    made.problem.add(std::move(costs));
    const auto begin = static_cast<std::uint32_t>(dice.below(5));
    made.use.add({begin, begin + 1 + static_cast<std::uint32_t>(dice.below(5)), v, v, std::move(bytes)});
  }
  for (std::uint32_t v = 1; v < variables; ++v) {
    std::vector<std::int64_t> costs, bytes;
    for (int pair = 0; pair < 9; ++pair) {
      costs.push_back(static_cast<std::int64_t>(dice.below(1500)));
      bytes.push_back(static_cast<std::int64_t>(dice.below(3000)));
    }
    if (dice.below(2) == 0) made.problem.edges.push_back({v - 1, v, std::move(costs)});
    if (dice.below(2) == 0) made.use.add({1, 4, v - 1, v, std::move(bytes)});
  }
  return made;
}

/// The least cost of all choices that take at most `most` bytes.
std::int64_t least_within(const Limited& limited, std::int64_t most) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<std::uint32_t> choices(limited.problem.costs.size());
  for (std::size_t at = 0; at < choices.size();) {
    if (limited.use.peak(limited.problem, choices).bytes <= most)
      least = std::min(least, limited.problem.value(choices));
    for (at = 0; at < choices.size() && ++choices[at] == limited.problem.costs[at].size(); ++at) choices[at] = 0;
  }
  return least;
}

TEST_CASE("less memory costs more, and the bounds hold for all choices") {
  std::size_t points = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    test::Dice dice(seed);
    const Limited limited = random_limited(dice);
    const LayoutFrontier found = frontier(limited.problem, limited.use, solve(limited.problem));
    REQUIRE(!found.points.empty());
    CHECK(found.points[0].value == solve(limited.problem).value);
    CHECK(found.points.back().bytes <= found.points[0].bytes);
    points += found.points.size();
    for (const LayoutFrontier::Point& point : found.points) {
      CHECK(point.value == limited.problem.value(point.choices));
      CHECK(point.bytes == limited.use.peak(limited.problem, point.choices).bytes);
      CHECK(point.value >= found.points[0].value);
      const std::int64_t least = least_within(limited, point.bytes);
      CHECK(least <= point.value);
      CHECK(bound_within(found, point.bytes) <= least);
    }
  }
  CHECK(points > 300);
}

TEST_CASE("branch and bound finds the least cost within a limit of memory") {
  int exact = 0, runs = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    test::Dice dice(seed);
    const Limited limited = random_limited(dice);
    const LayoutFrontier::Point slim = frontier(limited.problem, limited.use, solve(limited.problem)).points.back();
    const std::int64_t most = limited.use.peak(limited.problem, solve(limited.problem).choices).bytes;
    for (const std::int64_t limit : {most - 1, (most + slim.bytes) / 2, slim.bytes}) {
      if (limit < slim.bytes) continue;
      CAPTURE(seed);
      CAPTURE(limit);
      const Solution solution =
          solve_within(limited.problem, limited.use, limit, {slim.choices, slim.value, 0}, {.solves = 100});
      const std::int64_t least = least_within(limited, limit);
      CHECK(limited.use.peak(limited.problem, solution.choices).bytes <= limit);
      CHECK(solution.value == limited.problem.value(solution.choices));
      CHECK(solution.bound <= least);
      CHECK(solution.value >= least);
      exact += solution.value - least <= least / 200 ? 1 : 0;
      ++runs;
    }
  }
  CHECK(exact * 100 >= runs * 95);
}

/// Layers. Each has an op, and a variable, which is in memory during the whole step. Most choices of a variable take
/// equally much memory, the others take half and need a message. So the costs differ in large steps.
Limited layers(test::Dice& dice) {
  constexpr std::uint32_t kLayers = 8, kChoices = 6;
  constexpr std::int64_t kMessage = 5000, kHalved = 4;
  Limited made;
  const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(dice.below(most)); };
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    const std::int64_t whole = (4 + below(8)) * 1024;
    std::vector<std::int64_t> costs, bytes, of_op;
    for (std::int64_t choice = 0; choice < kChoices; ++choice) {
      costs.push_back((choice < kHalved ? 0 : kMessage) + below(200));
      bytes.push_back(choice < kHalved ? whole : whole / 2);
      of_op.push_back(below(300));
    }
    const std::uint32_t variable = made.problem.add(std::move(costs));
    made.problem.add(std::move(of_op));
    made.use.add({0, 1, variable, variable, std::move(bytes)});
  }
  const auto add_edge = [&](std::uint32_t a, std::uint32_t b) {
    Problem::Edge edge{a, b, {}};
    for (std::uint32_t pair = 0; pair < kChoices * kChoices; ++pair)
      edge.costs.push_back(pair / kChoices == pair % kChoices ? 0 : kMessage + below(100));
    made.problem.edges.push_back(std::move(edge));
  };
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    add_edge(2 * layer, 2 * layer + 1);
    if (layer > 0) add_edge(2 * layer - 1, 2 * layer + 1);
  }
  return made;
}

TEST_CASE("branch and bound proves a bound near the cost if many choices take equally much memory") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    test::Dice dice(seed);
    const Limited limited = layers(dice);
    const Solution fastest = solve(limited.problem);
    const std::int64_t most = limited.use.peak(limited.problem, fastest.choices).bytes;
    const LayoutFrontier::Point slim = frontier(limited.problem, limited.use, fastest).points.back();
    for (const int quarter : {1, 2, 3}) {
      CAPTURE(quarter);
      const std::int64_t limit = most - (most - slim.bytes) * quarter / 4;
      const Solution solution =
          solve_within(limited.problem, limited.use, limit, {slim.choices, slim.value, 0}, {.solves = 100});
      CHECK(limited.use.peak(limited.problem, solution.choices).bytes <= limit);
      CHECK(solution.value - solution.bound <= solution.bound * 3 / 100);
    }
  }
}

TEST_CASE("a price of memory makes choices dearer by at most the price of their peak") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    test::Dice dice(seed);
    const Limited limited = random_limited(dice);
    const MemoryPrice price{777, {1, 2, 4}};
    const Problem priced = limited.use.priced(limited.problem, price);
    const std::vector<std::uint32_t> choices(limited.problem.costs.size(), static_cast<std::uint32_t>(seed % 3));
    const std::int64_t most = limited.use.peak(limited.problem, choices).bytes;
    CHECK(priced.value(choices) >= limited.problem.value(choices));
    CHECK(priced.value(choices) <= limited.problem.value(choices) + cost_of_bytes(most, price.of_kibibyte) + 1);
  }
}

}  // namespace
}  // namespace ferry
