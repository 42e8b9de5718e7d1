// Reports everything in a model that ferry cannot import, in one error. Only ops/onnx uses it.
#pragma once

#include <string>

#include "ops/onnx/model.hpp"

namespace ferry::onnx {

/// The function of the model that a node calls, or null.
[[nodiscard]] const Function* function_of(const Model& model, const ModelNode& node);

/// Throws Error(file) if the model has unsupported ops or dtypes. The error lists each of them, its number of
/// occurrences, and its first place.
void check_supported(const Model& model);

}  // namespace ferry::onnx
