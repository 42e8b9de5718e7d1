// The ops of ONNX that ferry imports, by family.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/onnx/context.hpp"

namespace ferry::onnx {

[[nodiscard]] std::span<const Converter> array_converters();      ///< Reshape, Slice, Pad …
[[nodiscard]] std::span<const Converter> attention_converters();  ///< Attention, RotaryEmbedding …
[[nodiscard]] std::span<const Converter> control_converters();    ///< If
[[nodiscard]] std::span<const Converter> conv_converters();       ///< Conv, MaxPool …
[[nodiscard]] std::span<const Converter> indexing_converters();   ///< Gather …
[[nodiscard]] std::span<const Converter> linalg_converters();     ///< Einsum, Det
[[nodiscard]] std::span<const Converter> loss_converters();       ///< NegativeLogLikelihoodLoss …
[[nodiscard]] std::span<const Converter> math_converters();       ///< Add, Relu, Equal, Cast …
[[nodiscard]] std::span<const Converter> nn_converters();         ///< Gemm, Softmax …
[[nodiscard]] std::span<const Converter> norm_converters();       ///< LayerNormalization, LRN …
[[nodiscard]] std::span<const Converter> random_converters();     ///< RandomUniform, Bernoulli …
[[nodiscard]] std::span<const Converter> recurrent_converters();  ///< RNN, GRU, LSTM
[[nodiscard]] std::span<const Converter> reduce_converters();     ///< ReduceSum …
[[nodiscard]] std::span<const Converter> resize_converters();     ///< Resize, Upsample
[[nodiscard]] std::span<const Converter> signal_converters();     ///< windows, DFT …

/// The converter for an op at that version of its operator set: of those with its name, the newest that is not newer.
/// Null when there is none.
[[nodiscard]] const Converter* find_converter(std::string_view op, std::int64_t version);

/// All of them, by name and version.
[[nodiscard]] std::span<const Converter> all_converters();

/// Whether there is one for any version.
[[nodiscard]] bool has_converter(std::string_view op);

}  // namespace ferry::onnx
