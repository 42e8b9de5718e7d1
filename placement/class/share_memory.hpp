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

/// Puts (Channel::put): if only a send uses a kernel's output, and the receiver shares memory with the sender, the
/// kernel may write the output directly into the receiver's memory. This is done for messages of 4 KB or more, and for
/// kernels that write their output from end to end.
///
/// Gets (Via::get): other tasks read the input of such a collective directly from the step's arena, which they can
/// access. An input that is kept from step to step is in another arena, which other tasks cannot read. So the
/// collective gets scratch for a copy in the step's arena.
///
/// Must run after place_strands: only kernels of thread 0, which moves all messages, can put.
void share_memory(ClassPlan& plan);

}  // namespace ferry
