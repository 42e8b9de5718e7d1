// lower: turns the program, which describes all tasks, into the instructions of each role.
//
// Every class's list is a projection of one global order. The send and receive of a transfer start where its value is
// made; a message of several values, and a collective, start at their own place in the order. The wait for a message
// comes where its value is first used, so that the message overlaps with the instructions between. A class that
// receives no value from the message (a sender) waits for it a few messages later, or at the region's end. So the first
// unfinished instruction in the global order can always run, even when no message is buffered.
//
// Example (abridged):
//
//     %1 = Neg(%0) float32[4] @/task:0/cpu:0  # a
//     %5 = transfer(%1) float32[4] @/task:1/cpu:0  # a
//     %3 = Add(%5, %2) float32[4] @/task:1/cpu:0  # c
//
// becomes
//
//     2 Neg a (%0) -> %1        for task 0
//     3 send 1 (%1) of a
//     8 send_wait 1 (%1) of a
//     1 receive 1 -> %1 of a    for task 1
//     4 receive_wait 1 -> %1 of a
//     5 Add c (%1, %2) -> %3
#pragma once

#include <cstdint>

#include "placement/class/class_plan.hpp"
#include "placement/lower/class_nodes.hpp"
#include "placement/lower/lowering.hpp"

namespace ferry {

/// The instructions and buffers of the class of `task`.
[[nodiscard]] ClassPlan lower(Lowering& shared, const ClassNodes& nodes, std::int32_t task);

}  // namespace ferry
