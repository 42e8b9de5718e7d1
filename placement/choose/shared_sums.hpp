// Shared sums: the sums over tasks that fuse_messages will put into one message with other sums.
#pragma once

#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// By value of the step: whether its sum over tasks shares a message with other sums. Only elementwise ops read such a
/// value, on the way to assignments, and another value is summed up before they read it. Gradients are such values.
[[nodiscard]] std::vector<bool> sums_that_share(const Program& program);

}  // namespace ferry
