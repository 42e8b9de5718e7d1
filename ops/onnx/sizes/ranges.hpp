// IntegerRanges: the ranges of integers in the graph, if they can be found while a model is imported. They bound
// data-dependent sizes.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/sizes/integer_range.hpp"

namespace ferry::onnx {

/// The ranges of the elements of a value, in row-major order, or one range for all of them.
using RangeList = std::vector<IntegerRange>;

/// Finds the ranges of values from the ops that compute them, back to constants, sizes and dtypes.
class IntegerRanges {
 public:
  /// The ranges of the elements of `value`. Values that are neither integers nor bools have no bounds.
  [[nodiscard]] const RangeList& of(const Value& value);
  /// Forgets the values of the graphs for which `which` is true.
  template <class Which>
  void forget(const Which& which) {
    std::erase_if(known_, [&](const auto& one) { return which(one.first.first); });
  }

 private:
  [[nodiscard]] RangeList found(const Value& value);

  std::map<std::pair<const Graph*, ValueId>, RangeList> known_;
  int depth_ = 0;
};

}  // namespace ferry::onnx
