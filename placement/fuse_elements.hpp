// fuse_elements: elementwise instructions that work on the same values go over them together, a tile at a time.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "placement/plan_tables.hpp"
#include "placement/region_lists.hpp"

namespace ferry {

/// What fuse_elements may join.
struct Fusable {
  std::unordered_set<std::uint32_t> ops;  ///< strings: those whose kernels compute any run of elements alone
  std::int64_t from = 0;                  ///< elements of an output from which it pays; 0: never
};

/// The instruction may become part of a tile region.
[[nodiscard]] bool is_fusable(const PlanClass& plan, const Instruction& instruction, const Fusable& what);

/// Replaces groups of kernels in `lists` by one `tiles` instruction each, before memory is placed. Of what it makes, a
/// group writes only what others read; the rest gets slots of kTileBytes and no memory.
///
/// Joined are kernels of as many elements where one takes the other's value or both read the same one, if the first may
/// run as late as the second, or the second as early as the first. Taken are those on any thread (kAnyThread): the
/// others have a place in the user's order. None is moved past what moves messages or holds regions, so no message
/// starts later; kernels keep their order within a group, and so every value its bits.
void fuse_elements(PlanClass& plan, RegionLists& lists, PlanTables& tables, const Fusable& what);

}  // namespace ferry
