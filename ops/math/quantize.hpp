// Quantization: a number x is stored as an integer q of few bits, so that x is about (q - zero) * scale.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or dtypes do not fit.
#pragma once

#include <cstdint>

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// round(x / scale) + zero, converted to the integer dtype `dtype`. Halves are rounded to even, and results out of
/// range saturate. x and scale are floating-point. scale and zero (of `dtype`; undefined: 0) are broadcast to x.
///
///     quantize(g.constant({0.0, 0.3, 99.0}), g.constant(0.5), {}, DType::int8);  // [0 1 127]
Value quantize(const Value& x, const Value& scale, const Value& zero, DType dtype,
               source_location at = source_location::current());

/// (q - zero) * scale, in the dtype of scale. q has an integer dtype. zero has the same dtype (undefined: 0). zero and
/// scale are broadcast to q.
///
///     dequantize(g.constant({1, 18}), g.constant(0.5));  // [0.5 9]
Value dequantize(const Value& q, const Value& scale, const Value& zero = {},
                 source_location at = source_location::current());

/// The results of dynamic_quantize(); scale and zero are scalars.
struct Quantized {
  Value y, scale, zero;  ///< the quantized x, and its scale and zero point
};

/// x quantized to uint8, with the scale and zero point of the smallest range that contains 0 and all elements of x.
///
///     Quantized q = dynamic_quantize(g.constant({-1.0, 0.0, 4.1}));
///     q.y;      // [0 50 255]
///     q.scale;  // 0.02
Quantized dynamic_quantize(const Value& x, source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
