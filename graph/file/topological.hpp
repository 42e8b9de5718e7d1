// Topological sort of ops that a file lists in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ferry {

/// Item `to` needs item `from`, so `from` comes first.
struct Need {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool control = false;
};

/// The items 0 … count - 1, each after all items that it needs; or one cycle. If several items can be next, the lowest
/// number is first (Kahn's algorithm with a heap).
struct Sorted {
  std::vector<std::uint32_t> order;
  std::vector<Need> cycle;  ///< if not empty, `order` is incomplete; each `to` is the next one's `from`
};

/// Sorts the items in time O(needs + count log count), without recursion.
[[nodiscard]] Sorted sort_by_need(std::uint32_t count, std::span<const Need> needs);

}  // namespace ferry
