// Constant folding: computes outputs of nodes while importing, so that sizes, axes and bounds can become attributes.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/onnx/import.hpp"
#include "ops/onnx/model.hpp"
#include "ops/onnx/out.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

/// Computes `outs`, which a converter made in `scratch` from constants only, and returns them as known tensors. Returns
/// nothing if an output is a sequence, is large, is random, or cannot be computed.
[[nodiscard]] std::optional<std::vector<Out>> computed(const Graph& scratch, const Outs& outs,
                                                       const Evaluate& evaluate);

/// Returns `out`, an output of an op in the import's graph, as a known tensor if all of its elements are known; else
/// unchanged.
[[nodiscard]] Out as_known(const Out& out, IntegerRanges& ranges);

/// The results of nodes with known inputs. The nodes of an unrolled loop's body are converted once for each iteration.
/// Iterations with the same inputs share the results, which may be large weights.
class FoldedNodes {
 public:
  /// The results that were kept for the node, if its inputs were the same; else null.
  [[nodiscard]] const std::vector<Out>* find(const ModelNode& node, const std::vector<Tensor>& inputs) const;
  void keep(const ModelNode& node, std::vector<Tensor> inputs, std::vector<Out> results) {
    known_.insert_or_assign(&node, Folded{std::move(inputs), std::move(results)});
  }

 private:
  struct Folded {
    std::vector<Tensor> inputs;
    std::vector<Out> results;
  };
  std::unordered_map<const ModelNode*, Folded> known_;
};

}  // namespace ferry::onnx
