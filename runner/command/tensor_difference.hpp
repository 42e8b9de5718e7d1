// Compares tensors with expected ones.
#pragma once

#include <string>

#include "graph/types/tensor.hpp"

namespace ferry {

/// The allowed difference between a floating-point result and the expected one: |result - expected| <= atol + rtol *
/// |expected|. For float16 and bfloat16, rtol is at least two units in the last place, because the reference
/// implementations that made the cases round intermediate results differently. Other dtypes must be equal.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-6;
};

/// The reason why `result` is not as expected; empty if it is as expected. NaN equals NaN.
[[nodiscard]] std::string difference(const Tensor& result, const Tensor& expected, const Tolerance& tolerance);

}  // namespace ferry
