// Numbers as integers of a few bits with a scale and a zero point: x is nearly (q - zero) * scale.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>

#include "base/source_location.hpp"
#include "graph/value.hpp"

namespace ferry {

/// round(x / scale) + zero as `dtype`, an integer one: halves to the even, what is out of range saturates. scale, and
/// zero (of `dtype`; undefined: 0), are broadcast to x. x is floating-point, of scale's dtype.
Value quantize(const Value& x, const Value& scale, const Value& zero, DType dtype,
               source_location at = source_location::current());

/// (q - zero) * scale, in scale's dtype. q has an integer dtype; zero, of its dtype (undefined: 0), and scale are
/// broadcast.
Value dequantize(const Value& q, const Value& scale, const Value& zero = {},
                 source_location at = source_location::current());

/// The dtype in which sums of `count` products of two factors from -255 to 255 (8-bit numbers minus their zero points)
/// are exact: float32 where that is enough, else float64.
[[nodiscard]] constexpr DType exact_sums(std::int64_t count) {
  return count * 255 * 255 <= (std::int64_t{1} << 24) ? DType::float32 : DType::float64;
}

/// The results of dynamic_quantize(); scale and zero are scalars.
struct Quantized {
  Value y, scale, zero;
};
/// x as uint8, with the scale and zero point for a range that has x's smallest and largest element and 0 in it.
Quantized dynamic_quantize(const Value& x, source_location at = source_location::current());

}  // namespace ferry
