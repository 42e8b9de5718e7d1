// Writing variables. Within one step every read of a variable gives its value from before the step; writes take effect
// together at the step's end. Two writes of one variable in a run are an Error(plan), and so is a write in the body of
// a loop or branch.
#pragma once

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Sets the variable to `value`, which has its dtype and shape, at the end of the step. Returns `value`. The assignment
/// only runs if it is fetched or a target. It has the variable's device and layout. Error(plan) with the caller's line
/// when `variable` is not the output of Graph::variable, or when the types differ.
Value assign(const Value& variable, const Operand& value, source_location at = source_location::current());
/// assign(variable, variable + delta).
Value assign_add(const Value& variable, const Operand& delta, source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
