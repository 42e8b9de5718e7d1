// share_memory: prepares tasks that share memory for writing into and reading from each other's memory.
//
// Example (abridged):
//
//     0 all_reduce sum w direct by get float32 8192 elements over {0-1}
//     %0 w float32[8192] state+0
//     0 collective 0 (%0) -> %1
//
// becomes
//
//     %3 "" uint8[32768] step+0
//     0 collective 0 (%0) -> %1 with %3
#pragma once

#include "placement/class/class_plan.hpp"

namespace ferry {

/// Puts (Channel::put): if nothing but a send uses a kernel's output, and the receiver shares memory, the kernel may
/// write it straight into the receiver's memory. Done from 4 KB on, and for kernels that write their output from end to
/// end.
///
/// Gets (Via::get): others read the input of such a collective in the step's arena, which they can reach. An input that
/// is kept from step to step is in another arena, which other tasks cannot read. So the collective gets scratch for a
/// copy in the step's arena.
///
/// Comes after place_strands: puts are made by kernels of thread 0, which moves all messages.
void share_memory(ClassPlan& plan);

}  // namespace ferry
