// Between which numbers integers of the graph are, as far as that can be told while a model is imported: from it come
// the bounds of sizes that the data decide.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/sizes/integer_range.hpp"

namespace ferry::onnx {

/// Of each element of a value, in row-major order, or one for all of them.
using RangeList = std::vector<IntegerRange>;

/// Ranges of values, found from the ops that compute them, back to constants, sizes and dtypes.
class IntegerRanges {
 public:
  /// Of integers and bools; of other values nothing is known.
  [[nodiscard]] const RangeList& of(const Value& value);
  /// Forgets those of graphs that are thrown away.
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
