// fuse_stencils: fuses elementwise instructions with the windows that they read into stencils. A stencil stores no
// windows, and begins before the halos have arrived.
//
// Example (abridged):
//
//     2 collective 0 (%1) -> %2
//     3 collective_wait 0 (%1) -> %2
//     4 Window up (%0, %2) -> %3
//     5 Window down (%0, %2) -> %4
//     8 Add a (%3, %4) -> %7
//     10 Add c (%7, %8) -> %9
//
// becomes
//
//     2 collective 0 (%1) -> %2
//     3 stencil_begin Stencil c (%0) region 2 by 1024 -> %9
//     4 collective_wait 0 (%1) -> %2
//     5 stencil Stencil c (%0, %2) region 2 by 1024 -> %9
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Replaces elementwise kernels and the windows that they read by one `stencil` instruction each. The elements that
/// depend only on the task's own part are computed earlier: a `stencil_begin` before the waits for the halos computes
/// them while the halos travel.
///
/// All kernels of a stencil work on values with the same number of elements, or with a single element. They move down
/// to the last of them, so no instruction between may conflict with them. A window with other readers stays. A stencil
/// never writes a value that it reads through a window: if a variable's new value depends on windows of the variable,
/// the new value is computed in another buffer and copied. Elements are computed by the same kernels in the same order,
/// so every value keeps its bits.
void fuse_stencils(ClassPlan& plan);

}  // namespace ferry
