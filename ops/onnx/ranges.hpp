// Between which numbers integers of the graph are, as far as that can be told while a model is imported: from it come
// the bounds of sizes that the data decide.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace ferry::onnx {

/// least <= number <= most. Nothing is known of an end that is the end of 64 bits.
struct IntegerRange {
  static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  std::int64_t least = kLowest, most = kHighest;
  /// Where it is a product of sizes that a plan knows: the names of these dims, sorted, and a factor.
  std::vector<std::string> symbols = {};
  std::int64_t factor = 1;

  [[nodiscard]] static IntegerRange of(std::int64_t number) { return {number, number}; }
  [[nodiscard]] bool is_known() const { return least == most; }
  [[nodiscard]] bool is_open() const { return least == kLowest && most == kHighest; }
  bool operator==(const IntegerRange&) const = default;
};

/// Of a dim's size.
[[nodiscard]] IntegerRange of_dim(const Dim& dim);
[[nodiscard]] IntegerRange operator+(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator-(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator*(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange smaller(const IntegerRange& a, const IntegerRange& b);  ///< of minimum(a, b)
[[nodiscard]] IntegerRange larger(const IntegerRange& a, const IntegerRange& b);   ///< of maximum(a, b)
[[nodiscard]] IntegerRange either(const IntegerRange& a, const IntegerRange& b);   ///< a or b

/// Of each element of a value, in row-major order, or one for all of them.
using RangeList = std::vector<IntegerRange>;

/// IntegerRanges of values, found from the ops that compute them, back to constants, sizes and dtypes.
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
