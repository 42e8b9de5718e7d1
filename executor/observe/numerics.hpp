// Finds numbers that are not finite, for runs with ExecutionOptions::check_numerics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "graph/types/dtype.hpp"

namespace ferry {

/// How many elements of an array are NaN or infinite, and how many there are. All zero for dtypes that have neither.
struct NotFinite {
  std::int64_t nans = 0, infinities = 0, elements = 0;
  std::int64_t first = -1;  ///< index of the first one in the flattened array; -1: there is none
};
[[nodiscard]] NotFinite not_finite(DType dtype, std::span<const std::byte> bytes);

/// Whether the inputs of an op had NaN or infinite elements.
struct Given {
  bool nan = false, infinite = false;
  void add(const NotFinite& numbers) {
    nan = nan || numbers.nans > 0;
    infinite = infinite || numbers.infinities > 0;
  }
};

/// Describes the fault of an op's result: NaN though no input had one, or an infinity though all inputs were finite; so
/// an intended infinity, as in a mask, is not reported for later ops. Empty: nothing is wrong.
[[nodiscard]] std::string made_of(const Given& given, const NotFinite& result);

}  // namespace ferry
