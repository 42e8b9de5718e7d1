// Convolution and pooling of images of one, two or three dims: x [n,channels,d1,…]. The functions use the ops of
// ops/image/conv.hpp, which have two dims; a convolution of three dims treats the taps of the first dim as channels.
//
// Sizes of windows must be known when the graph is built. Sizes of images must be known if there are three dims, or if
// a function says so. The batch size n need not be known. Errors: all functions throw Error(plan), with the caller's
// line, when shapes, dtypes or windows do not fit.
#pragma once

#include <cstdint>

#include "base/source_location.hpp"
#include "graph/value.hpp"
#include "ops/image/conv.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// y[n,o,p…] = sum over c and taps k of x[n,c,p * stride - padding + k * dilation…] * w[o,c,k…], with zeros for
/// padding. w is [o,c/groups,k1,…]; conv2d() describes `groups`. Floating-point.
///
///     Value sound = g.input("sound", {8, 1, 100});
///     conv(sound, g.input("w", {4, 1, 5}), {.strides = {2}});  // float32[8,4,48]
Value conv(const Value& x, const Value& w, const Sliding& sliding = {}, std::int64_t groups = 1,
           source_location at = source_location::current());

/// conv() of quantized numbers: conv2d_integer() (ops/image/conv.hpp) for one to three dims.
///
///     Value sound = g.input("sound", DType::uint8, {8, 1, 100});
///     conv_integer(sound, g.input("w", DType::int8, {4, 1, 5}));  // int32[8,4,96]
Value conv_integer(const Value& x, const Value& w, const Value& x_zero = {}, const Value& w_zero = {},
                   const Sliding& sliding = {}, std::int64_t groups = 1,
                   source_location at = source_location::current());

/// The adjoint of conv(): each element of x [n,c,d1,…] adds its product with the filter w [c,o/groups,k1,…] to the
/// positions p * stride - padding + k * dilation of y [n,o,…]. A dim of y has (d - 1) * stride + (k - 1) * dilation + 1
/// elements minus the padding, plus `extra` elements at its end (one number for each dim; empty: 0). Floating-point.
///
///     Value x = g.input("x", {8, 4, 48});
///     conv_transpose(x, g.input("w", {4, 1, 5}), {.strides = {2}});  // float32[8,1,99]
Value conv_transpose(const Value& x, const Value& w, const Sliding& sliding = {}, std::int64_t groups = 1,
                     Ints extra = {}, source_location at = source_location::current());

/// The adjoint of im2col: adds up the windows of an image [n,c,image…] where they overlap. x is [n,c * taps,positions]:
/// a column has the taps of one window of `window` sizes in row-major order; positions are also in row-major order.
/// Floating-point.
///
///     col2im(g.input("x", {8, 12, 9}), {4, 4}, {2, 2});  // float32[8,3,4,4]
Value col2im(const Value& x, const Ints& image, const Ints& window, const Sliding& sliding = {},
             source_location at = source_location::current());

/// How windows are pooled.
struct Pooling {
  Ints size;             ///< size of a window in each dim
  Sliding sliding = {};  ///< strides, padding and dilations
  bool ceil = false;     ///< adds a last window that begins in the image and extends beyond it; sizes must be known
  bool count_padding = false;  ///< avg_pool: padding counts as zeros, but elements beyond the padding do not count
};

/// The largest element of each window, without the padding; NaN if the window contains NaN. Numbers of any dtype; sizes
/// must be known for integers and for dilated windows.
///
///     max_pool(images, {.size = {2, 2}, .sliding = {.strides = {2, 2}}});  // float32[8,3,16,16]
Value max_pool(const Value& x, const Pooling& pooling, source_location at = source_location::current());

/// The results of max_pool_indices().
struct Largest {
  Value y;        ///< the largest elements
  Value indices;  ///< int64, the position of the element in the flattened x: the first of equal elements
};

/// max_pool(), and the positions of the largest elements. With `columns_first`, the last dim of an image varies slowest
/// in the positions. All sizes must be known.
///
///     Largest found = max_pool_indices(images, {.size = {2, 2}, .sliding = {.strides = {2, 2}}});
///     found.indices;  // int64[8,3,16,16]
Largest max_pool_indices(const Value& x, const Pooling& pooling, bool columns_first = false,
                         source_location at = source_location::current());

/// The inverse of max_pool_indices(): zeros of `image` sizes {d1,…} for each channel, with the elements of x [n,c,p1,…]
/// at their `indices` (int64) in the flattened result. All sizes must be known. An index that is not a position in the
/// result is an error at run time.
///
///     Largest found = max_pool_indices(images, {.size = {2, 2}, .sliding = {.strides = {2, 2}}});
///     max_unpool(found.y, found.indices, {32, 32});  // float32[8,3,32,32]
Value max_unpool(const Value& x, const Value& indices, const Ints& image,
                 source_location at = source_location::current());

/// The mean of the elements of each window. Floating-point; sizes must be known for dilated windows.
///
///     avg_pool(images, {.size = {2, 2}, .sliding = {.strides = {2, 2}}});  // float32[8,3,16,16]
Value avg_pool(const Value& x, const Pooling& pooling, source_location at = source_location::current());

/// The p-norm of the elements of each window, (sum of |x|^p)^(1/p); padding counts as zeros. Floating-point, p >= 1.
///
///     lp_pool(images, {.size = {2, 2}, .sliding = {.strides = {2, 2}}});  // float32[8,3,16,16]
Value lp_pool(const Value& x, const Pooling& pooling, double p = 2, source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
