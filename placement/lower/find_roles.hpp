// find_roles: finds the tasks that do the same and share a plan class.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// The class of each task, numbered in order of first task. Two tasks share a class under these conditions. They have
/// the same number of threads, are in the same device sets, and hold parts of equal sizes. They take part in the same
/// collectives of `plan` (which has the program's messages), and both or neither are roots of these collectives.
/// Neither sends or receives a transfer.
[[nodiscard]] std::vector<std::uint32_t> find_roles(const Program& program, const Plan& plan,
                                                    const MessageNumbers& messages);

}  // namespace ferry
