// Computes outputs of nodes while importing: so sizes, axes and bounds can become attributes of ferry's ops.
#pragma once

#include <optional>
#include <vector>

#include "ops/onnx/import.hpp"
#include "ops/onnx/out.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

/// `outs`, which a converter made in `scratch` from constants alone, as known tensors. Nothing where one is a sequence,
/// takes much memory, is random, or cannot be computed.
[[nodiscard]] std::optional<std::vector<Out>> computed(const Graph& scratch, const Outs& outs,
                                                       const Evaluate& evaluate);

/// `out`, which an op in the graph at hand gives; as a tensor where all of its elements are known.
[[nodiscard]] Out as_known(const Out& out, IntegerRanges& ranges);

}  // namespace ferry::onnx
