// Convolution and pooling of images: x [n,channels,height,width].
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes, dtypes or windows do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// How a window moves over an image. Output position p covers the input positions p * stride - padding + k * dilation
/// for the taps k of the window; positions outside the image are padding. Lists have a number for each dim of the
/// image; an empty list means 1, for padding 0.
struct Sliding {
  Ints strides = {};  ///< for rows and columns, at least 1
  Ints padding = {};  ///< rows (above and below), columns (left and right); or four numbers: above, left, below, right
  Ints dilations = {};  ///< for rows and columns, at least 1; max_pool2d and avg_pool2d have none
};

/// The padding with which a window of odd `size` (after dilation) and stride 1 keeps the size of the image.
///
///     same_padding(5);  // {2, 2}
[[nodiscard]] inline Ints same_padding(std::int64_t size) {
  return {(size - 1) / 2, (size - 1) / 2};
}

/// y[n,o,p,q] = sum over c, u, v of x[n,c,P,Q] * w[o,c,u,v], with P and Q from Sliding and zeros for padding. This is
/// the cross-correlation, as usual in the field. x is [n,c,h,w], w is [o,c/groups,kh,kw]. Input channels and output
/// channels are divided into `groups` equal blocks. Block i of the output depends only on block i of the input.
/// Floating-point.
///
///     conv2d(images, g.input("w", {16, 3, 3, 3}), {.padding = same_padding(3)});  // float32[8,16,32,32]
Value conv2d(const Value& x, const Value& w, const Sliding& sliding = {}, std::int64_t groups = 1,
             source_location at = source_location::current());

/// conv2d of x minus its zero point and w minus its zero point, exact modulo 2^32, as int32. Padding has the value of
/// the zero point. `x` and `w` are int8 or uint8. Each zero point is a scalar of the same dtype (undefined: 0); w_zero
/// is [o] if each output channel has its own. No gradient.
///
///     Value x = g.input("x", DType::uint8, {8, 3, 32, 32}), w = g.input("w", DType::int8, {16, 3, 3, 3});
///     conv2d_integer(x, w, g.constant(128, DType::uint8));  // int32[8,16,30,30]
Value conv2d_integer(const Value& x, const Value& w, const Value& x_zero = {}, const Value& w_zero = {},
                     const Sliding& sliding = {}, std::int64_t groups = 1,
                     source_location at = source_location::current());

/// The adjoint of conv2d. Each element of x [n,o,p,q] is multiplied by the filter w [o,c/groups,kh,kw]. The products
/// are added to the elements of y [n,c,h,w] that conv2d reads to compute the element. The height is h = (p - 1) *
/// stride + (kh - 1) * dilation + 1 minus the padding. Floating-point.
///
///     Value x = g.input("x", {8, 16, 16, 16}), w = g.input("w", {16, 3, 2, 2});
///     conv2d_transpose(x, w, {.strides = {2, 2}});  // float32[8,3,32,32]
Value conv2d_transpose(const Value& x, const Value& w, const Sliding& sliding = {}, std::int64_t groups = 1,
                       source_location at = source_location::current());

/// The largest element of each window of `size` {rows, columns} in x [n,c,h,w], without the padding; NaN if the window
/// contains NaN. The gradient goes to the first of equal elements. The padding must be smaller than the window.
/// Floating-point.
///
///     max_pool2d(images, {2, 2}, {.strides = {2, 2}});  // float32[8,3,16,16]
Value max_pool2d(const Value& x, Ints size, const Sliding& sliding, source_location at = source_location::current());

/// The mean of each window of `size` {rows, columns} in x [n,c,h,w], over the elements of the window that are inside
/// the image. The padding must be smaller than the window. Floating-point.
///
///     avg_pool2d(images, {2, 2}, {.strides = {2, 2}});  // float32[8,3,16,16]
Value avg_pool2d(const Value& x, Ints size, const Sliding& sliding, source_location at = source_location::current());

/// The ops, with their attributes in braces: Conv2D(x, w) {strides, padding, dilations, groups}, Conv2DInteger(x, w,
/// x_zero, w_zero), the adjoints Conv2DGradInput(dy, w, like x) and Conv2DGradFilter(dy, x, like w) of Conv2D,
/// Conv2DTranspose(x, w), MaxPool2D(x) {size, strides, padding}, MaxPool2DGrad(dy, x), AvgPool2D(x), AvgPool2DGrad(dy,
/// like x). MaxPool2DPick(v, x) returns the elements of v at the positions of the largest element of each window of x.
[[nodiscard]] std::span<const OpDef* const> conv_ops();

}  // namespace ferry
#pragma GCC visibility pop
