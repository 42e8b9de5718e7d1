// Checks and lookups of the options that a user gives for a model: sizes of inputs, and numbers for dims.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/onnx/import.hpp"

namespace ferry::onnx {

/// The inputs that become feeds of the graph: all inputs that must be fed, and an input with a default (an initializer)
/// if the user gives its sizes.
[[nodiscard]] std::vector<const ValueDef*> fed_inputs(const Model& model, const ImportOptions& options);

/// Throws Error(usage) if sizes or numbers do not fit the model or each other, or if the model does not have the inputs
/// or dims that they are for.
void check_given(const Model& model, const ImportOptions& options);

/// The number that the user gives for the first dim of a value of the model: by the dim's symbol in the model's
/// outputs, else by the value's name.
[[nodiscard]] std::optional<std::int64_t> given_first_dim(const Model& model, const ImportOptions& options,
                                                          const std::string& value);

}  // namespace ferry::onnx
