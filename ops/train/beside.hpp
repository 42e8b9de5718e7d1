// For builder functions of training: what is computed beside a variable. Not for users.
#pragma once

#include <string_view>

#include "graph/graph.hpp"
#include "ops/train/optim.hpp"

namespace ferry {

/// The place of a variable, without its layout: for what is computed beside it.
[[nodiscard]] Annotation place_of(const Value& variable);

/// A variable "VARIABLE/NAME" of zeros, of the type and place and layout of `variable`.
[[nodiscard]] Value zeros_beside(const Value& variable, std::string_view name);

/// The gradient where its variable lies, and as it lies: if it is a sum of the tasks' parts, they are added up here,
/// once, however often it is used.
[[nodiscard]] Value gathered(const Gradient& gradient);

}  // namespace ferry
