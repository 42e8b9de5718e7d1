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

/// Items 0 … count - 1, each after all that it needs, and the lowest number first where there is a choice (Kahn's
/// algorithm with a heap); or one cycle.
struct Sorted {
  std::vector<std::uint32_t> order;
  std::vector<Need> cycle;  ///< if not empty, `order` is incomplete; each `to` is the next one's `from`
};

/// Sorts the items in time O(needs + count log count), without recursion.
[[nodiscard]] Sorted sort_by_need(std::uint32_t count, std::span<const Need> needs);

}  // namespace ferry
