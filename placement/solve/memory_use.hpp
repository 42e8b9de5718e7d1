// MemoryUse: the memory that choices of a problem take over time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/solve/problem.hpp"

namespace ferry {

/// A price of memory in use at several points of a step. Each point has an equal part of the price.
struct MemoryPrice {
  std::int64_t of_kibibyte = 0;  ///< in the unit of the problem's costs
  std::vector<std::uint32_t> points;
};

/// The bytes that choices take in intervals of a step. A use belongs to each choice of one variable, or to each pair of
/// choices of two variables.
class MemoryUse {
 public:
  struct Use {
    std::uint32_t begin = 0, end = 0;  ///< points of the step; `end` is excluded
    std::uint32_t a = 0, b = 0;        ///< variables of the problem; a < b, or a == b for the use of one variable
    std::vector<std::int64_t> bytes;   ///< by choice of a; for a pair like Problem::Edge::costs
  };
  /// The peak of the memory of choices, and the first point with this peak.
  struct Peak {
    std::int64_t bytes = 0;
    std::uint32_t point = 0;
  };

  /// Adds a use. `problem` must have both variables of a pair before peak() or priced().
  void add(Use use) { uses_.push_back(std::move(use)); }
  [[nodiscard]] const std::vector<Use>& uses() const { return uses_; }
  [[nodiscard]] Peak peak(const Problem& problem, std::span<const std::uint32_t> choices) const;
  /// The problem with the costs of memory at the price's points, rounded down. Choices cost at most their costs in
  /// `problem` plus the price of their memory at its peak.
  [[nodiscard]] Problem priced(const Problem& problem, const MemoryPrice& price) const;

 private:
  std::vector<Use> uses_;
};

/// The cost of `bytes` bytes at a price, rounded down.
[[nodiscard]] constexpr std::int64_t cost_of_bytes(std::int64_t bytes, std::int64_t of_kibibyte) {
  return bytes / 1024 * of_kibibyte + bytes % 1024 * of_kibibyte / 1024;
}

/// A lower bound of the costs, without memory, of choices that take at most `most` bytes. `priced` is a lower bound of
/// the costs of all choices at the price.
[[nodiscard]] constexpr std::int64_t bound_without_price(std::int64_t priced, std::int64_t of_kibibyte,
                                                         std::int64_t most) {
  return of_kibibyte == 0 ? priced : priced - cost_of_bytes(most, of_kibibyte) - 1;  // both costs are rounded down
}

/// A first guess of a price: `bytes` bytes cost a sixteenth of `cost`.
[[nodiscard]] constexpr std::int64_t first_price(std::int64_t cost, std::int64_t bytes) {
  return std::max<std::int64_t>(1, cost / std::max<std::int64_t>(1, bytes / 1024) / 16);
}

/// The highest price at which the memory costs less than kImpossible.
[[nodiscard]] constexpr std::int64_t highest_price(std::int64_t bytes) {
  return kImpossible / 16 / std::max<std::int64_t>(1, bytes / 1024);
}

}  // namespace ferry
