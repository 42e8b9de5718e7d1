// The dtypes that ONNX's definitions of ops demand of a node's inputs and outputs.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/onnx/importer/frame.hpp"
#include "ops/onnx/model.hpp"
#include "ops/onnx/out.hpp"

namespace ferry::onnx {

/// What a version of an op demands, as text: a letter for each input, '>', a letter for each output; the last letter
/// holds for all that follow. Values of one capital letter have one dtype. b, f, i, j and u are bool, float32, int64,
/// int32 and uint8; '?' is any dtype. "T?>Ti", of TopK: the first output has the dtype of the first input, and the
/// second is int64.
[[nodiscard]] std::string_view signature_of(const ModelNode& node, std::int64_t opset);

/// Error(file) where inputs of the node have unlike dtypes although the signature demands one.
void check_inputs(std::string_view signature, const ModelNode& node, const Frame& frame);

/// Casts the outputs, which a converter made in `graph`, to the dtypes of the signature. ferry's functions promote
/// inputs of unlike dtypes; ONNX's ops do not.
void set_dtypes(std::string_view signature, const ModelNode& node, const Frame& frame, Graph& graph, Outs& outs);

}  // namespace ferry::onnx
