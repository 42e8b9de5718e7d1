// Normalisations that follow convolutions, taken into the filters.
#pragma once

#include "ops/onnx/model.hpp"

namespace ferry::onnx {

/// The graph, in which convolutions by known filters do what the normalisations of batches (for inference) by known
/// numbers did that alone read their results: filter * scale / sqrt(variance + epsilon), computed in float64 and
/// rounded to float32, and so the bias. The normalisations become identities. Known is what initializers and Constant
/// nodes give, or Identities of these, and no input replaces. `opset`: of ONNX's own ops.
[[nodiscard]] GraphDef scale_filters(GraphDef graph, std::int64_t opset);

}  // namespace ferry::onnx
