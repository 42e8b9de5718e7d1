// fuse_elements: fuses elementwise instructions, and instructions that work by rows, if they share values. The fused
// instructions run tile by tile.
//
// Example (abridged):
//
//     1 Neg a (%0) -> %1
//     2 Exp b (%1) -> %2
//     3 Mul c (%2, %0) -> %3
//
// becomes
//
//     1 Neg+Exp+Mul c (%0) region 2 by 2048 -> %3
//     region 2 tile
//       0 Neg a (%0) -> %1
//       1 Exp b (%1) -> %2
//       2 Mul c (%2, %0) -> %3
#pragma once

#include <cstdint>

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Whether the instruction is elementwise, fusable, and on at least `from` elements (0: never).
[[nodiscard]] bool is_fusable(const ClassPlan& plan, const Instruction& instruction, std::int64_t from);

/// Replaces groups of kernels by one `tiles` instruction each, before memory is placed. Values that only the group uses
/// get slots and no memory.
///
/// Two kernels are joined under three conditions. They work on the same number of elements. One reads the other's
/// result, or both read the same value. The first can move down to the second, or the second up to the first. Kernels
/// that work by rows are joined, too, also with kernels on values that have one element for each row; then a tile has
/// whole rows. Kernels that are not fusable (kFusable) keep their place: they have effects, or the user ordered them.
/// No kernel is moved past an instruction that starts a message or has regions, so no message starts later. A kernel is
/// moved past the wait for a message only if it reads at most one large value, so that this takes no more memory.
/// Kernels keep their order within a group, so every value keeps its bits.
///
/// If a device runs regions (Topology::gpu_regions), its kernels are joined for any number of elements. The tiles and
/// slots of such a region only mark the values that need no memory.
void fuse_elements(ClassPlan& plan);

}  // namespace ferry
