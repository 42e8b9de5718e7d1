// Sums of products of 8-bit numbers minus their zero points, exact, in floating point, whose products of matrices are
// the fast ones.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/math/math.hpp"
#include "ops/onnx/context.hpp"

namespace ferry::onnx {

/// The largest size of an element of input i, of 8 bits, minus its zero point, input `zero`.
[[nodiscard]] inline std::int64_t largest_centred(Context& c, int i, int zero) {
  bool centred = c.type(i).dtype == DType::int8;
  if (c.has(zero)) {
    const Tensor point = c.constant_if(zero);
    centred = centred && point.defined();
    for (std::int64_t k = 0; centred && k < point.count(); ++k) centred = point.number(k) == 0;
  }
  return centred ? 128 : 255;
}

/// The sum over 0 … count - 1 of integers of at most `largest`: of(begin, end, dtype) gives that over some of them in
/// a floating-point dtype, in which it is exact. The result has that dtype, or if it is a sum of several, int32.
template <class Of>
[[nodiscard]] Value exact_sum(std::int64_t count, std::int64_t largest, const Of& of) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24;  // float32 has all integers up to it
  constexpr std::int64_t kMostParts = 8;                  // more are not worth what it takes to add them
  if (count * largest <= kExact) return of(0, count, DType::float32);
  if (count * largest > kExact * kMostParts || largest > kExact) return of(0, count, DType::float64);
  const std::int64_t together = kExact / largest, parts = (count + together - 1) / together;
  const auto part = [&](std::int64_t p) {
    return cast(of(count * p / parts, count * (p + 1) / parts, DType::float32), DType::int32);
  };
  Value sum = part(0);
  for (std::int64_t p = 1; p < parts; ++p) sum = sum + part(p);
  return sum;
}

}  // namespace ferry::onnx
