// Folds batch normalizations into the filters of the convolutions before them.
#pragma once

#include "ops/onnx/model.hpp"

namespace ferry::onnx {

/// Folds a batch normalization for inference into a convolution if their filter, bias and other parameters are known,
/// and the normalization is the only reader of the convolution's result. The filter becomes filter * scale /
/// sqrt(variance + epsilon), computed in float64 and rounded to float32; the bias is computed likewise. The
/// normalization becomes an Identity. Known tensors are initializers that no input replaces, the outputs of Constant
/// nodes, and Identities of both. `opset`: the version of ONNX's own operator set.
[[nodiscard]] GraphDef scale_filters(GraphDef graph, std::int64_t opset);

}  // namespace ferry::onnx
