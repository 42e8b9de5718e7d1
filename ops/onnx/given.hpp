// What a user gives besides a model: sizes of inputs, numbers for dims.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/onnx/import.hpp"

namespace ferry::onnx {

/// Error(usage) where sizes or numbers do not fit the model or each other, or are of nothing that it has.
void check_given(const Model& model, const ImportOptions& options);

/// The number for the first dim of a value of the model, by the dim's symbol in the model's outputs or by the value's
/// name.
[[nodiscard]] std::optional<std::int64_t> given_first_dim(const Model& model, const ImportOptions& options,
                                                          const std::string& value);

}  // namespace ferry::onnx
