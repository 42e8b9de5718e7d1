// LayoutFrontier: layouts that take less and less memory, and more and more time (placement/solve/frontier.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace ferry {

/// Costs are in the unit of the model of layouts.
struct LayoutFrontier {
  struct Point {
    std::vector<std::uint32_t> choices;
    std::int64_t value = 0;  ///< the cost of the choices
    std::int64_t bytes = 0;  ///< the most memory that they take at a time
  };
  /// If memory has a price, no choices cost less than `bound`.
  struct PricedBound {
    std::int64_t of_kibibyte = 0, bound = 0;
  };

  /// No choices that take at most `bytes` cost less than `bound`.
  struct LimitBound {
    std::int64_t bytes = 0, bound = 0;
  };

  std::vector<Point> points;  ///< the fastest one first
  std::vector<PricedBound> priced;
  std::vector<LimitBound> limited;
};

}  // namespace ferry
