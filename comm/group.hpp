// Groups: execute the schedules of collectives over a transport.
#pragma once

#include <memory>

#include "comm/group_call.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Prepares a call that executes the schedule. With Via::messages it sends exactly the schedule's messages. With
/// Via::put and Via::get, the messages of an input contain no data: they report that the input has been written, or its
/// address. With Via::put, the first run may also exchange addresses. If the transport has a window to another member's
/// memory, results that this member folds for it are written directly there. Error(plan) if the schedule is for members
/// that share memory, but they do not lend to each other.
[[nodiscard]] std::unique_ptr<GroupCall> prepare_call(Transport& transport, const GroupSpec& spec);

}  // namespace ferry
#pragma GCC visibility pop
