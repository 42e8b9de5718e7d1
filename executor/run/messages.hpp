// Errors of an instruction that failed or waits too long.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// `error` with the op, its name and the task before its text, and the user's line after it.
[[nodiscard]] Error located(const Error& error, const Plan& plan, const Instruction& instruction, int task);

/// Converts an exception of the kernel of `op` in `kernels` to an Error. An exception of another type becomes
/// Code::program if the kernel is the user's, else Code::bug.
[[nodiscard]] Error error_of_kernel(const std::exception_ptr& thrown, std::string_view op, const KernelTable& kernels);
/// The same, for an exception that `instruction` threw on `task`. For a BadValue the Error names the origin of the
/// value (executor/run/origin.hpp).
[[nodiscard]] Error error_of_kernel(const std::exception_ptr& thrown, const Plan& plan, const Instruction& instruction,
                                    int task, const KernelTable& kernels);

/// Error(stalled): `task` has made no progress in `instruction` for `waited`; `others` are its other pending
/// operations, one per line.
[[nodiscard]] Error stalled_error(const Plan& plan, const Instruction& instruction, int task, Duration waited,
                                  const std::vector<std::string>& others);

/// "iteration 12 of the loop "grow" on task 0 at model.cpp:3": where in a loop a task is.
[[nodiscard]] std::string iteration_text(const Plan& plan, const Instruction& loop, int task, std::int64_t iteration);

/// Error(stalled): `task` is still in `loop`, and `since` has passed since the outermost loop began.
[[nodiscard]] Error endless_error(const Plan& plan, const Instruction& loop, int task, std::int64_t iteration,
                                  Duration since);

}  // namespace ferry
