// Normalisations that follow convolutions, taken into the filters.
#pragma once

#include "ops/onnx/model.hpp"

namespace ferry::onnx {

/// Folds batch normalisations (for inference, by known numbers) into convolutions by known filters, where the
/// normalisation is the only reader of the convolution's result. The filter becomes filter * scale / sqrt(variance +
/// epsilon), computed in float64 and rounded to float32; likewise the bias. The normalisations become identities. Known
/// is what initializers and Constant nodes give, or Identities of these, and no input replaces. `opset`: of ONNX's own
/// ops.
[[nodiscard]] GraphDef scale_filters(GraphDef graph, std::int64_t opset);

}  // namespace ferry::onnx
