// Reports all that ferry cannot import of a model, in one error. For ops/onnx alone.
#pragma once

#include <string>

#include "ops/onnx/model.hpp"

namespace ferry::onnx {

/// The function of the model that a node calls, or null.
[[nodiscard]] const Function* function_of(const Model& model, const ModelNode& node);

/// Error(file) lists each op and dtype that ferry has not, how many nodes have it, and which is the first.
void check_supported(const Model& model);

}  // namespace ferry::onnx
