// Checks and looks up what a user gives besides a model: sizes of inputs, numbers for dims.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/onnx/import.hpp"

namespace ferry::onnx {

/// The inputs that become feeds of the graph: those that must be fed, and those that have a default (an initializer) if
/// their sizes are given.
[[nodiscard]] std::vector<const ValueDef*> fed_inputs(const Model& model, const ImportOptions& options);

/// Error(usage) where sizes or numbers do not fit the model or each other, or name something that the model does not
/// have.
void check_given(const Model& model, const ImportOptions& options);

/// The number for the first dim of a value of the model, by the dim's symbol in the model's outputs or by the value's
/// name.
[[nodiscard]] std::optional<std::int64_t> given_first_dim(const Model& model, const ImportOptions& options,
                                                          const std::string& value);

}  // namespace ferry::onnx
