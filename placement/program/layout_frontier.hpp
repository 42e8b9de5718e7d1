// LayoutFrontier: a series of layouts with decreasing memory and increasing time (placement/solve/frontier.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace ferry {

/// Costs are in the unit of the model of layouts (Program::cost_unit).
struct LayoutFrontier {
  struct Point {
    std::vector<std::uint32_t> choices;
    std::int64_t value = 0;  ///< the cost of the choices
    std::int64_t bytes = 0;  ///< the peak of their memory, in bytes
  };
  /// At a price of `of_kibibyte` for each KiB of memory, all choices cost at least `bound`, memory included.
  struct PricedBound {
    std::int64_t of_kibibyte = 0, bound = 0;
  };

  /// All choices that take at most `bytes` of memory cost at least `bound`.
  struct LimitBound {
    std::int64_t bytes = 0, bound = 0;
  };

  std::vector<Point> points;  ///< the fastest one first
  std::vector<PricedBound> priced;
  std::vector<LimitBound> limited;
};

}  // namespace ferry
