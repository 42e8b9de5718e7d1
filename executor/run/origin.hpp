// Finds the origin of a value that a kernel cannot work on.
#pragma once

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The Error for `bad`, which `instruction` threw on `task`. It names the source of the value, which decides the
/// error's code: Code::usage for a feed, Code::plan for a constant (or a value that the setup computes from constants
/// alone), Code::file for a data file, Code::program for a value that the graph computes or that a variable holds. The
/// search goes back, across tasks, through copies, ops that only move elements, messages, and collectives that do not
/// reduce.
[[nodiscard]] Error error_of_value(const BadValue& bad, const Plan& plan, const Instruction& instruction, int task);

}  // namespace ferry
