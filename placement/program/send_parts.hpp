// send_parts: sends only the parts of a value that another device uses.
//
// Example (abridged):
//
//     %1 = Exp(%0) float32[16,96] @/task:0/cpu:0  # a
//     %3 = Slice(%1) float32[1,96] @/task:1/cpu:0  # row: all 16 rows would travel
//     %4 = Exp(%3) float32[1,96] @/task:1/cpu:0  # y
//
// becomes
//
//     %1 = Exp(%0) float32[16,96] @/task:0/cpu:0  # a
//     %3 = Slice(%1) float32[1,96] @/task:0/cpu:0  # row
//     %4 = Exp(%3) float32[1,96] @/task:1/cpu:0  # y
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Moves ops that only select or rearrange elements of a value, and chains of them, from the device that reads the
/// value to the device that has it, if fewer bytes travel then. That is so if all reads of the value on the reading
/// device go through such ops, and their results together are smaller than the value. A result still goes to every
/// device that reads it, so an annotation holds for the value that is used there. A moved op comes right after the
/// value, so that it is sent as early as the value was. Constants that only the op reads go with it.
///
/// Stays: an op with a layout annotation, a bounded value or several devices; a target, a region's result, what merge
/// leaves alone, and an op without a kernel on the other device. No op changes its region. Linear time, except for the
/// sorting of each value's users.
void send_parts(Program& program);

}  // namespace ferry
