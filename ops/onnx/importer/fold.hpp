// Constant folding: computes outputs of nodes while importing, so that sizes, axes and bounds can become attributes.
#pragma once

#include <optional>
#include <vector>

#include "ops/onnx/import.hpp"
#include "ops/onnx/out.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

/// `outs`, which a converter made in `scratch` from constants alone, as known tensors. Nothing if one is a sequence,
/// takes much memory, is random, or cannot be computed.
[[nodiscard]] std::optional<std::vector<Out>> computed(const Graph& scratch, const Outs& outs,
                                                       const Evaluate& evaluate);

/// `out`, the output of an op in the import's graph, as a known tensor if all of its elements are known.
[[nodiscard]] Out as_known(const Out& out, IntegerRanges& ranges);

}  // namespace ferry::onnx
