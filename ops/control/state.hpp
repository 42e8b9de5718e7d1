// Ops that write variables. Within one step, every read of a variable gives its value from before the step; all writes
// take effect together at the end of the step. Two writes of one variable in a run are an Error(plan), and so is a
// write in the body of a loop or branch.
#pragma once

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Sets the variable to `value` at the end of the step, and returns `value`. `value` has the variable's dtype and
/// shape. The assignment runs only if its result is fetched or a target. It has the variable's device and layout.
/// Error(plan) with the caller's line if `variable` is not the output of Graph::variable, or if the types differ.
///
///     Value count = g.variable("count", g.constant(0));
///     assign(count, count + 1);  // 1
[[nodiscard]] Value assign(const Value& variable, const Operand& value,
                           source_location at = source_location::current());

/// assign(variable, variable + delta).
///
///     assign_add(g.variable("count", g.constant(0)), 2);  // 2
[[nodiscard]] Value assign_add(const Value& variable, const Operand& delta,
                               source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
