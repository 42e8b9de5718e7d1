// join_windows: a slice of a padded value becomes one window of the value.
//
// Example (abridged):
//
//     %1 = Pad(%0) float32[12,9] @mesh[3]/cpu:0{0-2}  # p
//     %2 = Slice(%1) float32[10,7] @mesh[3]/cpu:0{0-2}  # up
//     %3 = Slice(%1) float32[10,7] @mesh[3]/cpu:0{0-2}  # down
//
// becomes
//
//     %2 = Window(%0) {begin ints [-1,0]; …} float32[10,7] @mesh[3]/cpu:0{0-2}  # up
//     %3 = Window(%0) {begin ints [1,0]; …} float32[10,7] @mesh[3]/cpu:0{0-2}  # down
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Replaces windows of windows (windows.hpp) on the same devices by windows of the first value, if the value between
/// has no other users. Then the value between is not computed, and rows are sent only once. So a stencil written as
/// slices of a padded array gets halos of the array itself. The pass keeps values that have a layout annotation or are
/// targets, and pads of slices. Takes linear time.
void join_windows(Program& program);

}  // namespace ferry
