// The ranges of integers in the graph, as far as they can be found while a model is imported: they bound sizes that the
// data decide.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/sizes/integer_range.hpp"

namespace ferry::onnx {

/// The ranges of the elements of a value, in row-major order, or one range for all of them.
using RangeList = std::vector<IntegerRange>;

/// Ranges of values, found from the ops that compute them, back to constants, sizes and dtypes.
class IntegerRanges {
 public:
  /// The ranges of integers and bools; nothing is known of other values.
  [[nodiscard]] const RangeList& of(const Value& value);
  /// Forgets the values of graphs that are dropped.
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
