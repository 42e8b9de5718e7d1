// Where a value that a kernel cannot work on came from.
#pragma once

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// `bad`, thrown by `instruction` on `task`, with who gave the value and the code that follows from it: a feed
/// Code::usage, a constant (or what is computed of constants alone, once) Code::plan, a file of data Code::file; what
/// the graph computed, or holds in a variable, Code::program. Ops that only move elements, messages and collectives
/// that sum nothing are followed, over all tasks.
[[nodiscard]] Error error_of_value(const BadValue& bad, const Plan& plan, const Instruction& instruction, int task);

}  // namespace ferry
