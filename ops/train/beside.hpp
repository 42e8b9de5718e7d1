// Internal helpers of training functions: values that are placed with a variable.
#pragma once

#include <string_view>

#include "graph/graph.hpp"
#include "graph/value.hpp"

namespace ferry {

/// The device or mesh of a variable, without its layout, for values that are computed there.
[[nodiscard]] Annotation place_of(const Value& variable);

/// A variable "VARIABLE/NAME", initially zero, with the type, device or mesh, and layout of `variable`.
[[nodiscard]] Value zeros_beside(const Value& variable, std::string_view name);

/// The gradient of a variable, with the device or mesh and the layout of the variable. If the gradient is a partial
/// sum, the tasks' parts are added up only once, regardless of how often the result is used.
[[nodiscard]] Value place_gradient(const Value& variable, const Value& gradient);

}  // namespace ferry
