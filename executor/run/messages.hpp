// What the executor says of an instruction that failed or waits.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "kernels/kernel.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// `error` with the op, its name, the task and the user's line.
[[nodiscard]] Error located(const Error& error, const Plan& plan, const Instruction& instruction, int task);

/// " at model.cpp:3": the user's line; "" where there is none.
[[nodiscard]] std::string at_line(const Plan& plan, const Instruction& instruction);

/// What the kernel of `op` in that table threw, as an Error: Code::program when it is the user's and threw another
/// thing.
[[nodiscard]] Error error_of_kernel(const std::exception_ptr& thrown, std::string_view op, const KernelTable& kernels);
/// The same, thrown as `instruction` was run on `task`: of a BadValue with where it came from
/// (executor/run/origin.hpp).
[[nodiscard]] Error error_of_kernel(const std::exception_ptr& thrown, const Plan& plan, const Instruction& instruction,
                                    int task, const KernelTable& kernels);

/// "receive_wait of 'a' from task 0 (Add at model.cpp:3)": what an instruction that communicates waits for.
[[nodiscard]] std::string pending_text(const Plan& plan, const Instruction& instruction, int task);

/// Error(stalled): the verdict. `task` has made no progress in `instruction` for `waited`; `others` are its other
/// pending operations, a line each.
[[nodiscard]] Error stalled_error(const Plan& plan, const Instruction& instruction, int task, Duration waited,
                                  const std::vector<std::string>& others);

/// "iteration 12 of the loop "grow" on task 0 at model.cpp:3": where in a loop a task is.
[[nodiscard]] std::string iteration_text(const Plan& plan, const Instruction& loop, int task, std::int64_t iteration);

/// Error(stalled): `task` is in this loop of its step after `since` in the loops around it and it.
[[nodiscard]] Error endless_error(const Plan& plan, const Instruction& loop, int task, std::int64_t iteration,
                                  Duration since);

}  // namespace ferry
