// The dtypes that ONNX's definitions of ops require for a node's inputs and outputs, and the largest number of each.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/onnx/importer/frame.hpp"
#include "ops/onnx/model.hpp"
#include "ops/onnx/out.hpp"

namespace ferry::onnx {

/// The signature of a version of an op, as text: a letter for each input, '>', and a letter for each output. The last
/// letter of each side also holds for all further values. Values with the same capital letter have the same dtype. b,
/// f, i, j and u are bool, float32, int64, int32 and uint8; '?' is any dtype. For example, "T?>Ti" of TopK: the first
/// output has the dtype of the first input, and the second output is int64.
[[nodiscard]] std::string_view signature_of(const ModelNode& node, std::int64_t opset);

/// Throws Error(file) if the node has more inputs or outputs than this version of its op allows.
void check_counts(const ModelNode& node, std::int64_t opset);

/// Throws Error(file) if inputs with the same capital letter in the signature have different dtypes.
void check_inputs(std::string_view signature, const ModelNode& node, const Frame& frame);

/// Casts the outputs, which a converter made in `graph`, to the dtypes of the signature. ferry's functions promote
/// inputs of different dtypes; ONNX's ops do not.
void set_dtypes(std::string_view signature, const ModelNode& node, const Frame& frame, Graph& graph, Outs& outs);

}  // namespace ferry::onnx
