// fuse_stencils: elementwise instructions that read windows become stencils, which make no windows, and begin before
// the halos have come.
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
/// Members are kernels on as many elements, or single ones; they move down to the last one of them, which no
/// instruction between may notice. A window with other readers stays. A value that is read through a window is not
/// written: if a variable's new value depends on windows of the variable, the new value is made elsewhere and copied.
/// Elements are computed by the same kernels in the same order, so every value keeps its bits.
void fuse_stencils(ClassPlan& plan);

}  // namespace ferry
