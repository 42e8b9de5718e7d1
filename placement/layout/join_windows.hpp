// join_windows: on meshes, a slice of a padded value becomes one window of the value.
#pragma once

#include "placement/program/program.hpp"

namespace ferry {

/// Replaces windows of windows (windows.hpp) on the same mesh by windows of the first value, if the value between has
/// no other users. Then the value between is not made, and rows travel only once. So a stencil written as slices of a
/// padded array gets halos of the array itself. Stays: what has a layout annotation, is a target, or pads a slice.
/// Linear.
void join_windows(Program& program);

}  // namespace ferry
