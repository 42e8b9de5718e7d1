// share_memory: what tasks that share memory write and read in each other's.
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Puts (Channel::put): what a kernel makes for a send alone, whose receiver shares memory, it may write there. Worth
/// it from 4 KB on, and for kernels that write their output from end to end.
///
/// Gets (Via::get): an input that others are to read lies in the step's arena, which they reach. What is kept from step
/// to step does not: the collective gets room for a copy, as its scratch.
///
/// Comes after place_strands: only thread 0 moves messages.
void share_memory(ClassPlan& plan);

}  // namespace ferry
