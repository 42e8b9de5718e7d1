// Converters of quantization, and of products of quantized numbers.
#include "ops/math/quantize.hpp"

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// Broadcasts a scale or zero point to input 0. It is one number for all elements, for each index of the axis, or for
/// each block of `block_size` elements along the axis.
Value spread(Context& c, const Value& given) {
  const int rank = c.rank(0);
  const std::int64_t given_axis = c.integer("axis", 1), block = c.integer("block_size", 0);
  if (given.rank() == 0 || (given.rank() == 1 && given.shape()[0] == Dim(1))) return reshape(given, {});
  const int axis = c.axis(0, given_axis);
  if (given.rank() == 1 && block == 0) {
    Ints axes;
    for (int d = axis + 1; d < rank; ++d) axes.push_back(d - axis);
    return expand_dims(given, axes);
  }
  if (given.rank() != rank || block < 1 || !given.shape().fixed())
    Context::fail("a scale of " + given.shape().str() + " with blocks of " + std::to_string(block));
  Ints sizes = given.shape().sizes();
  const Value apart = expand_dims(given, {axis + 1});
  sizes.insert(sizes.begin() + axis + 1, block);
  const Value repeated = broadcast_to(apart, sizes);
  sizes.erase(sizes.begin() + axis + 1);
  sizes[axis] *= block;
  return slice(reshape(repeated, sizes), axis, 0, c.size(0, axis));
}

/// Applies spread() to input i; undefined if the input is absent.
Value spread_input(Context& c, int i) {
  return c.has(i) ? spread(c, c.in(i)) : Value();
}

Outs to_quantize(Context& c) {
  const Value given = c.in(0);
  const Value scale = spread(c, c.in(1));
  const DType asked = c.dtype("output_dtype", c.has(2) ? c.type(2).dtype : DType::uint8);
  const DType dtype = c.has(2) ? c.type(2).dtype : asked;
  c.no_effect({"saturate"});  // only for float8
  const DType precision = c.dtype("precision", scale.dtype());
  const Value x = cast(given, precision);
  const Value factor = cast(scale, precision);
  return quantize(x, factor, spread_input(c, 2), dtype);
}

Outs to_dequantize(Context& c) {
  const Value q = c.in(0);
  const Value scale = spread(c, c.in(1));
  const Value y = dequantize(q, scale, spread_input(c, 2));
  return cast(y, c.dtype("output_dtype", scale.dtype()));
}

Outs to_dynamic_quantize(Context& c) {
  const Quantized quantized = dynamic_quantize(c.in(0));
  return {quantized.y, quantized.scale, quantized.zero};
}

/// The product of inputs a and b. Inputs `a_zero` and `b_zero` are their zero points. As in numpy, a vector is a row on
/// the left and a column on the right.
Value product(Context& c, int a, int a_zero, int b, int b_zero) {
  const Value a_point = c.scalar_if_one(a_zero), b_point = c.scalar_if_one(b_zero);
  const auto rank_of = [](const Value& v) { return v.defined() ? v.rank() : 0; };
  const bool column = c.rank(b) == 1, row = c.rank(a) == 1 && c.rank(b) > 2;
  const Value left = row ? expand_dims(c.in(a), {0}) : c.in(a);
  const Value right = column ? expand_dims(c.in(b), {1}) : c.in(b);
  const auto as_given = [&](const Value& y) { return column ? squeeze(y, {-1}) : row ? squeeze(y, {-2}) : y; };
  if (right.rank() == 2 && rank_of(a_point) <= (left.rank() == 2 ? 1 : 0) && rank_of(b_point) <= 1)
    return as_given(matmul_integer(left, right, a_point, b_point));
  const auto centred = [](const Value& v, const Value& zero, bool rows) {
    const Value wide = cast(v, DType::int32);
    if (!zero.defined()) return wide;
    const Value point = cast(zero, DType::int32);
    return wide - (rows && point.rank() == 1 ? expand_dims(point, {1}) : point);
  };
  const Value centred_left = centred(left, a_point, true);
  const Value centred_right = centred(right, b_point, false);
  return as_given(matmul(centred_left, centred_right));
}

Outs to_matmul_integer(Context& c) {
  return product(c, 0, 2, 1, 3);
}

Outs to_qlinear_matmul(Context& c) {
  enum Input { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };
  const Value sums = cast(product(c, kA, kAZero, kB, kBZero), DType::float64);
  const Value a_scale = c.scalar_if_one(kAScale);
  const Value rows = a_scale.rank() == 1 ? expand_dims(a_scale, {1}) : a_scale;
  const Value scale = rows * c.in(kBScale);
  const Value y = sums * cast(scale / c.in(kYScale), DType::float64);
  const Value one = c.scalar(1, DType::float64);
  return quantize(y, one, c.in(kYZero), c.type(kYZero).dtype);
}

constexpr ConvertOp kQuantize[] = {
    {"DequantizeLinear", 10, to_dequantize},  {"DynamicQuantizeLinear", 11, to_dynamic_quantize},
    {"MatMulInteger", 10, to_matmul_integer}, {"QLinearMatMul", 10, to_qlinear_matmul},
    {"QuantizeLinear", 10, to_quantize},
};

}  // namespace

std::span<const ConvertOp> quantize_converters() {
  return kQuantize;
}

}  // namespace ferry::onnx
