// fuse_elements: elementwise instructions, and those that work by rows, go together over the values that they share, a
// tile at a time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "placement/class/region_lists.hpp"
#include "placement/plan/plan_tables.hpp"

namespace ferry {

/// What fuse_elements may join.
struct Fusable {
  std::unordered_set<std::uint32_t> ops;  ///< strings: those whose kernels compute any run of elements alone
  /// Of output buffers of kernels that work by rows (Capabilities::row): elements of a row of their first input.
  std::unordered_map<std::uint32_t, std::int64_t> rows;
  std::int64_t from = 0;  ///< elements of a value from which it pays; 0: never
};

/// The instruction is elementwise, on so many elements that it may become part of a tile region by itself.
[[nodiscard]] bool is_fusable(const PlanClass& plan, const Instruction& instruction, const Fusable& what);

/// Replaces groups of kernels in `lists` by one `tiles` instruction each, before memory is placed. Of what it makes, a
/// group writes only what others read; the rest gets slots and no memory.
///
/// Joined are kernels of as many elements where one takes the other's value or both read the same one, if the first may
/// run as late as the second, or the second as early as the first. Beside a kernel that works by rows, which lie whole
/// in a tile then, so are those on values with one element for each row. Taken are those on any thread (kAnyThread):
/// the others have a place in the user's order. None is moved past what starts messages or holds regions, so no message
/// starts later, and past the wait for one only where there is no more to read after it then; kernels keep their order
/// within a group, and so every value its bits.
void fuse_elements(PlanClass& plan, RegionLists& lists, PlanTables& tables, const Fusable& what);

}  // namespace ferry
