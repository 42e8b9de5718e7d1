// Roles: which tasks do the same and share a plan class.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/messages/messages.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Sizes of the part of a value that `task` holds; the task must be in the value's device set.
[[nodiscard]] std::vector<std::int64_t> local_sizes(const Program& program, const PValue& value, std::int32_t task);

/// All parts of the value have the same size.
[[nodiscard]] bool is_even(const Program& program, const PValue& value);

/// The class of each task, numbered in order of first task. Two tasks share a class when they are in the same device
/// sets, hold parts of equal sizes, take part in the same collectives of `plan`, which has the program's messages, and
/// neither is the end of a transfer or a root.
[[nodiscard]] std::vector<std::uint32_t> task_classes(const Program& program, const Plan& plan,
                                                      const MessageNumbers& messages);

/// The task that sends in a transfer node.
[[nodiscard]] std::int32_t sender_of(const Program& program, const Node& transfer);

}  // namespace ferry
