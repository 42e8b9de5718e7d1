// Reports everything in a model that ferry cannot import, in one error. For ops/onnx alone.
#pragma once

#include <string>

#include "ops/onnx/model.hpp"

namespace ferry::onnx {

/// The function of the model that a node calls, or null.
[[nodiscard]] const Function* function_of(const Model& model, const ModelNode& node);

/// Error(file) lists each op and dtype that ferry does not have, how often it occurs, and where it occurs first.
void check_supported(const Model& model);

}  // namespace ferry::onnx
