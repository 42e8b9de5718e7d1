// fuse_stencils: elementwise instructions that read windows become stencils, which make no windows, and begin before
// the halos have come.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Replaces elementwise kernels and the windows that they read by one `stencil` instruction each. What it computes from
/// windows of the task's own part alone is there already: a `stencil_begin` before the waits for its halos makes these
/// elements while the halos travel.
///
/// Members are kernels on as many elements, or single ones; they move down to the last one of them, which no
/// instruction between may notice. A window stays that others read, and what is read through a window is not written:
/// a new value of a variable that its own windows lead to is made elsewhere and copied. Elements are computed by the
/// same kernels in the same order, so every value keeps its bits.
void fuse_stencils(ClassPlan& plan);

}  // namespace ferry
