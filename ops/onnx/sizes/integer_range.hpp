// Interval arithmetic: integers with a known lower and upper bound.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graph/types/shape.hpp"

namespace ferry::onnx {

/// A number with least <= number <= most. kLowest and kHighest, the ends of 64 bits, mean that there is no bound.
struct IntegerRange {
  static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  std::int64_t least = kLowest, most = kHighest;
  /// Set if the number is `factor` times a product of the sizes of symbolic dims, which are known when a plan is made:
  /// the names of these dims, sorted.
  std::vector<std::string> symbols = {};
  std::int64_t factor = 1;

  [[nodiscard]] static IntegerRange of(std::int64_t number) { return {number, number}; }
  [[nodiscard]] bool is_known() const { return least == most; }
  [[nodiscard]] bool is_open() const { return least == kLowest && most == kHighest; }
  bool operator==(const IntegerRange&) const = default;
};

/// The range of a dim's size.
[[nodiscard]] IntegerRange of_dim(const Dim& dim);

// These functions return the range of an operation's result for all numbers in the ranges a and b. It has no bounds if
// 64 bits could overflow.

[[nodiscard]] IntegerRange operator+(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator-(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator*(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange negated(const IntegerRange& a);
/// The range of a / b if a is not negative and b is positive; else a range without bounds.
[[nodiscard]] IntegerRange operator/(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange smaller(const IntegerRange& a, const IntegerRange& b);  ///< range of minimum(a, b)
[[nodiscard]] IntegerRange larger(const IntegerRange& a, const IntegerRange& b);   ///< range of maximum(a, b)
[[nodiscard]] IntegerRange either(const IntegerRange& a, const IntegerRange& b);   ///< contains both ranges

}  // namespace ferry::onnx
