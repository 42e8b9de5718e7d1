// find_roles: finds tasks that run the same instructions; they share a plan class.
//
// Example (abridged):
//
//     %0 = Input() float32[12,3] @/task:0/cpu:0  # x
//     %5 = collective.scatter(%0) over {0-5} float32[12,3][S(0)] @mesh[6]/cpu:0{0-5}  # x: task 0 is the root
//     %1 = Exp(%5) float32[12,3][S(0)] @mesh[6]/cpu:0{0-5}  # y
//
// becomes
//
//     class 0: task 0
//     class 1: tasks 1-5
#pragma once

#include <cstdint>
#include <vector>

#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Returns the class of each task; classes are numbered in the order of their first tasks. Two tasks share a class if
/// they have the same number of threads, are in the same device sets, and hold parts of equal sizes. They must take
/// part in the same collectives of `plan` (which has the program's messages), and both or neither must be roots of
/// these collectives. Neither may send or receive a transfer.
[[nodiscard]] std::vector<std::uint32_t> find_roles(const Program& program, const Plan& plan,
                                                    const MessageNumbers& messages);

}  // namespace ferry
