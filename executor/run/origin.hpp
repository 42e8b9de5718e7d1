// Where a value that a kernel cannot work on came from.
#pragma once

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// `bad`, thrown by `instruction` on `task`, as an Error that says where the value came from, with a code that depends
/// on that: Code::usage for a feed, Code::plan for a constant (or what the setup computes of constants alone),
/// Code::file for a file of data, Code::program for a variable or what the graph computes in a step. The value is
/// followed back, over all tasks, through ops that only move elements, messages, and collectives without a reduction.
[[nodiscard]] Error error_of_value(const BadValue& bad, const Plan& plan, const Instruction& instruction, int task);

}  // namespace ferry
