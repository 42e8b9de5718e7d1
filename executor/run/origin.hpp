// Finds where a value that a kernel cannot work on came from.
#pragma once

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The Error for `bad`, which `instruction` threw on `task`. It names the source of the value, from which its code
/// follows: Code::usage for a feed, Code::plan for a constant (or what the setup computes from constants alone),
/// Code::file for a data file, Code::program for what the graph computes or holds in a variable. The search goes
/// back, across tasks, through copies, ops that only move elements, messages, and collectives that do not reduce.
[[nodiscard]] Error error_of_value(const BadValue& bad, const Plan& plan, const Instruction& instruction, int task);

}  // namespace ferry
