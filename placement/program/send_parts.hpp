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
/// value to the device that has it, if this reduces the bytes to send. This is the case if all reads of the value on
/// the reading device go through such ops, and their results together are smaller than the value. Every device that
/// reads a result still receives it, so an op's annotation still names the devices where its result is used. A moved op
/// comes right after the value, so that its result is sent as early as the value was. Constants that only the op reads
/// go with it.
///
/// The pass does not move an op with a layout annotation, a bounded value or several devices; a target; a region's
/// result; an op that merge never merges; or an op without a kernel on the other device. No op changes its region. The
/// pass takes linear time, except for the sorting of each value's users.
void send_parts(Program& program);

}  // namespace ferry
