// What the executor says of an instruction that failed or waits.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "placement/plan.hpp"

namespace ferry {

/// `error` with the op, its name, the task and the user's line.
[[nodiscard]] Error located(const Error& error, const Plan& plan, const Instruction& instruction, int task);

/// "receive_wait of 'a' from task 0 (Add at model.cpp:3)": what an instruction that communicates waits for.
[[nodiscard]] std::string pending_text(const Plan& plan, const Instruction& instruction, int task);

/// Error(stalled): the verdict. `task` has made no progress in `instruction` for `waited`; `others` are its other
/// pending operations, a line each.
[[nodiscard]] Error stalled_error(const Plan& plan, const Instruction& instruction, int task, Duration waited,
                                  const std::vector<std::string>& others);

}  // namespace ferry
