// fuse_elements: elementwise instructions, and those that work by rows, go together over the values that they share, a
// tile at a time.
#pragma once

#include <cstdint>

#include "placement/class/class_plan.hpp"

namespace ferry {

/// The instruction is elementwise, on at least `from` elements (0: never), so that it may become part of a tile region
/// by itself.
[[nodiscard]] bool is_fusable(const ClassPlan& plan, const Instruction& instruction, std::int64_t from);

/// Replaces groups of kernels by one `tiles` instruction each, before memory is placed. Of what it makes, a group
/// writes only what others read; the rest gets slots and no memory.
///
/// Joined are kernels of as many elements where one takes the other's value or both read the same one, if the first may
/// run as late as the second, or the second as early as the first. Beside a kernel that works by rows, which lie whole
/// in a tile then, so are those on values with one element for each row. Taken are those that are fusable: the
/// others have a place in the user's order. None is moved past what starts messages or holds regions, so no message
/// starts later, and past the wait for one only where there is no more to read after it then; kernels keep their order
/// within a group, and so every value its bits.
void fuse_elements(ClassPlan& plan);

}  // namespace ferry
