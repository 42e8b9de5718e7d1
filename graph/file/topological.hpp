// The order in which a graph can be built from a list in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ferry {

/// `to` needs `from`.
struct Need {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool control = false;
};

/// Items 0 … count - 1, each after all that it needs, otherwise in their own order (Kahn's algorithm with a heap), or
/// the items of one cycle.
struct Sorted {
  std::vector<std::uint32_t> order;
  std::vector<Need> cycle;  ///< not empty: there is no order; each `to` is the next one's `from`
};

/// Sorts the items in time O(needs + count log count), without recursion.
[[nodiscard]] Sorted sort_by_need(std::uint32_t count, std::span<const Need> needs);

}  // namespace ferry
