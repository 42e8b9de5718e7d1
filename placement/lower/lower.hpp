// lower: turns the program, which describes all tasks, into the instructions of each role.
//
// Every class's list is a projection of one global order. The send and receive of a transfer start where its value is
// made; a message of several values, and a collective, start at their own place in the order. The wait for a message
// comes where its value is first used, so that the message overlaps with the instructions between. A class that
// receives nothing waits a few messages later, or at the region's end. So the first unfinished instruction in the
// global order can always run, even when no message is buffered.
#pragma once

#include <cstdint>

#include "placement/class/class_plan.hpp"
#include "placement/lower/class_nodes.hpp"
#include "placement/lower/lowering.hpp"

namespace ferry {

/// The instructions and buffers of the class of `task`.
[[nodiscard]] ClassPlan lower(Lowering& shared, const ClassNodes& nodes, std::int32_t task);

}  // namespace ferry
