// Plans of random graphs with all that a plan may have: transfers, collectives over meshes, split values with uneven
// parts, variables, loops and branches, nested too, with messages inside.
#pragma once

#include <cstdint>

#include "placement/plan.hpp"

namespace ferry::test {

/// Numbers that the seed alone decides: SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

struct RandomPlanOptions {
  int ops = 12;         ///< about
  int tasks = 4;        ///< of one host
  int hosts = 1;        ///< that share the tasks
  bool control = true;  ///< loops and branches
};

/// The plan of a random graph on a mesh over all tasks (of four: 2 × 2 too) and on single tasks, that the seed alone
/// decides.
[[nodiscard]] Plan random_plan(std::uint64_t seed, const RandomPlanOptions& options);

}  // namespace ferry::test
