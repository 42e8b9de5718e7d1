// Finds numbers that are not finite, for runs with ExecutionOptions::check_numerics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "graph/types/dtype.hpp"

namespace ferry {

/// The numbers of NaNs, infinities and all elements of an array. All zero for dtypes without NaN and infinity.
struct NotFinite {
  std::int64_t nans = 0, infinities = 0, elements = 0;
  std::int64_t first = -1;  ///< index of the first NaN or infinity in the flattened array; -1: none
};
[[nodiscard]] NotFinite not_finite(DType dtype, std::span<const std::byte> bytes);

/// Whether the inputs of an op have NaN or infinite elements.
struct NonFiniteInputs {
  bool nan = false, infinite = false;
  void add(const NotFinite& numbers) {
    nan = nan || numbers.nans > 0;
    infinite = infinite || numbers.infinities > 0;
  }
};

/// Describes the fault of an op's result: NaN though no input had one, or an infinity though all inputs were finite; so
/// an intended infinity, as in a mask, is not reported for later ops. Empty: nothing is wrong.
[[nodiscard]] std::string fault_text(const NonFiniteInputs& given, const NotFinite& result);

}  // namespace ferry
