// fuse_stencils: elementwise instructions that read windows become stencils, which make no windows, and begin before
// the halos have come.
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
