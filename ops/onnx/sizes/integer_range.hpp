// Arithmetic of integers of which it is known between which numbers they are.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graph/types/shape.hpp"

namespace ferry::onnx {

/// A number with least <= number <= most. An end that is the end of 64 bits says nothing.
struct IntegerRange {
  static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  std::int64_t least = kLowest, most = kHighest;
  /// Set where the number is a product of sizes that a plan knows: the names of these dims, sorted, and a factor.
  std::vector<std::string> symbols = {};
  std::int64_t factor = 1;

  [[nodiscard]] static IntegerRange of(std::int64_t number) { return {number, number}; }
  [[nodiscard]] bool is_known() const { return least == most; }
  [[nodiscard]] bool is_open() const { return least == kLowest && most == kHighest; }
  bool operator==(const IntegerRange&) const = default;
};

/// The range of a dim's size.
[[nodiscard]] IntegerRange of_dim(const Dim& dim);

// The ranges of an op's result for any a and b in their ranges. Where 64 bits overflow nothing is known.

[[nodiscard]] IntegerRange operator+(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator-(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator*(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange negated(const IntegerRange& a);
/// a / b, where a is not negative and b is positive; else nothing is known.
[[nodiscard]] IntegerRange operator/(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange smaller(const IntegerRange& a, const IntegerRange& b);  ///< of minimum(a, b)
[[nodiscard]] IntegerRange larger(const IntegerRange& a, const IntegerRange& b);   ///< of maximum(a, b)
[[nodiscard]] IntegerRange either(const IntegerRange& a, const IntegerRange& b);   ///< a or b

}  // namespace ferry::onnx
