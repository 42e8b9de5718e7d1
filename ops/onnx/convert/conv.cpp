// Converters of convolution and pooling.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/image/windows.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/quantize.hpp"
#include "ops/math/reduce.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

/// Splits padding into the padding at the beginning and at the end. An odd element goes to the end if `behind` is set.
std::pair<std::int64_t, std::int64_t> halve_padding(std::int64_t total, bool behind) {
  return behind ? std::pair(total / 2, total - total / 2) : std::pair(total - total / 2, total / 2);
}

/// The padding of a dim that makes the number of positions size / stride, rounded up.
std::int64_t same_mode_padding(std::int64_t size, std::int64_t covered, std::int64_t stride) {
  return std::max<std::int64_t>(((size + stride - 1) / stride - 1) * stride + covered - size, 0);
}

/// The size of dim `d` of the images in input 0, not counting the first two dims.
std::int64_t image_size(Context& c, std::size_t d) {
  const std::int64_t size = c.size(0, static_cast<std::int64_t>(d) + 2);
  check_computed("a dim", size, SourceLine());
  return size;
}

/// Rejects sizes of a node that are negative, or so large that sums overflow.
void check_sizes(const Ints& sizes) {
  for (std::int64_t size : sizes)
    if (size < 0 || size > kMostComputed) Context::fail("a size of " + std::to_string(size));
}

/// The windows of a node; the lists have a number for each dim.
struct Windows {
  Ints size, strides, dilations, pads;
  std::string automatic;

  /// `dilated`, `fitted`: whether the op has dilations and automatic padding.
  Windows(Context& c, Ints given, bool dilated = true, bool fitted = true)
      : size(std::move(given)),
        strides(c.integers("strides", Ints(size.size(), 1))),
        dilations(dilated ? c.integers("dilations", Ints(size.size(), 1)) : Ints(size.size(), 1)),
        pads(c.integers("pads", Ints(2 * size.size(), 0))),
        automatic(fitted ? c.text("auto_pad", "NOTSET") : "NOTSET") {
    const std::size_t dims = size.size();
    if (dims == 0 || strides.size() != dims || dilations.size() != dims || pads.size() != 2 * dims)
      Context::fail("its window, strides, dilations and pads are of different lengths");
    // Within these limits, no sum of products of two numbers overflows.
    for (const auto& [list, least] : {std::pair(&size, 1), {&strides, 1}, {&dilations, 1}, {&pads, 0}})
      for (std::int64_t number : *list)
        if (number < least || number > kMostComputed)
          Context::fail("a window, stride, dilation or pad of " + std::to_string(number));
    if (automatic == "VALID") std::fill(pads.begin(), pads.end(), 0);
  }
  [[nodiscard]] std::size_t dims() const { return size.size(); }
  [[nodiscard]] bool is_same() const { return automatic == "SAME_UPPER" || automatic == "SAME_LOWER"; }
  [[nodiscard]] std::int64_t covered(std::size_t d) const { return (size[d] - 1) * dilations[d] + 1; }
  [[nodiscard]] Sliding sliding() const { return {strides, pads, dilations}; }
  void pad(std::size_t d, std::int64_t total) {
    std::tie(pads[d], pads[d + dims()]) = halve_padding(total, automatic == "SAME_UPPER");
  }
};

/// The windows of an op that moves them over its input 0, with the pads of automatic padding.
Windows over_input(Context& c, Ints size) {
  Windows w(c, std::move(size));
  if (static_cast<std::size_t>(c.rank(0)) != w.dims() + 2)
    Context::fail("a window of " + std::to_string(w.dims()) + " dims over an input of rank " +
                  std::to_string(c.rank(0)));
  if (w.is_same())
    for (std::size_t d = 0; d < w.dims(); ++d)
      w.pad(d, same_mode_padding(image_size(c, d), w.covered(d), w.strides[d]));
  return w;
}

/// y plus the bias in input i, if there is one.
Value with_bias(Context& c, int i, const Value& y) {
  if (!c.has(i)) return y;
  Ints axes;
  for (int d = 2; d < y.rank(); ++d) axes.push_back(d - 1);
  const Value bias = expand_dims(c.in(i), axes);
  return y + bias;
}

Outs to_conv(Context& c) {
  const Windows w = over_input(c, c.window_of(1));
  const Value x = c.in(0);
  return with_bias(c, 2, conv(x, c.in(1), w.sliding(), c.integer("group", 1)));
}

/// ConvTranspose. If the size of the output is given, the padding is computed from it. If this padding would be
/// negative, the missing elements are added at the end instead.
Outs to_conv_transpose(Context& c) {
  Windows w(c, c.window_of(1));
  const auto dims = static_cast<std::int64_t>(w.dims());
  if (c.rank(0) != dims + 2) Context::fail("its filter and its input are of different ranks");
  Ints extra = c.integers("output_padding", Ints(w.dims(), 0));
  Ints wanted = c.integers("output_shape");
  if (extra.size() != w.dims() || (!wanted.empty() && wanted.size() < w.dims()))
    Context::fail("output_padding or output_shape has too few dims");
  check_sizes(extra);
  check_sizes(wanted);
  if (!wanted.empty()) wanted.erase(wanted.begin(), wanted.end() - dims);
  for (std::size_t d = 0; d < w.dims() && (w.is_same() || !wanted.empty()); ++d) {
    const std::int64_t size = image_size(c, d);
    const std::int64_t all = (size - 1) * w.strides[d] + w.covered(d) + extra[d];
    const std::int64_t over = all - (wanted.empty() ? size * w.strides[d] : wanted[d]);
    w.pad(d, std::max<std::int64_t>(over, 0));
    extra[d] += std::max<std::int64_t>(-over, 0);
  }
  const Value x = c.in(0);
  return with_bias(c, 2, conv_transpose(x, c.in(1), w.sliding(), c.integer("group", 1), extra));
}

Pooling pooling_of(Context& c) {
  const Windows w = over_input(c, c.integers("kernel_shape"));
  return {w.size, w.sliding(), c.integer("ceil_mode", 0) != 0, false};
}

Outs to_max_pool(Context& c) {
  const Pooling pooling = pooling_of(c);
  const bool by_columns = c.integer("storage_order", 0) != 0;
  if (!c.is_used(1)) return max_pool(c.in(0), pooling);
  const Largest largest = max_pool_indices(c.in(0), pooling, by_columns);
  return {largest.y, largest.indices};
}

Outs to_average_pool(Context& c) {
  Pooling pooling = pooling_of(c);
  pooling.count_padding = c.integer("count_include_pad", 0) != 0;
  return avg_pool(c.in(0), pooling);
}

/// In the first version, the attribute p is a float.
Outs to_lp_pool_1(Context& c) {
  return lp_pool(c.in(0), pooling_of(c), c.real("p", 2));
}
Outs to_lp_pool(Context& c) {
  return lp_pool(c.in(0), pooling_of(c), static_cast<double>(c.integer("p", 2)));
}

using Reducing = Value (*)(const Value&, Ints, bool, source_location);

template <Reducing f>
Outs to_global_pool(Context& c) {
  Ints axes;
  for (int d = 2; d < c.rank(0); ++d) axes.push_back(d);
  return f(c.in(0), axes, true, source_location::current());
}

Outs to_global_lp_pool(Context& c) {
  const std::int64_t p = c.integer("p", 2);
  if (p < 1) Context::fail(formatted("attribute 'p' is {}; it must be at least 1", p));
  Ints axes;
  for (int d = 2; d < c.rank(0); ++d) axes.push_back(d);
  const Value powers = pow(abs(c.in(0)), static_cast<double>(p));
  return pow(sum(powers, axes, true), 1 / static_cast<double>(p));
}

Outs to_col2im(Context& c) {
  const Ints image = c.ints(1);
  const Windows w(c, c.ints(2), true, false);
  if (image.size() != w.dims()) Context::fail("an image and blocks of different ranks");
  const Value x = c.in(0);
  if (is_float(x.dtype())) return col2im(x, image, w.size, w.sliding());
  return cast(col2im(cast(x, DType::float64), image, w.size, w.sliding()), x.dtype());  // sums are exact up to 2^53
}

/// Reshapes `of_filters`, one number or one for each channel, so that it is broadcast to x. Dim `channels` of x has the
/// channels.
Value by_channel(const Value& of_filters, const Value& x, int channels) {
  if (of_filters.rank() == 0) return of_filters;
  Ints axes;
  for (int d = channels + 1; d < x.rank(); ++d) axes.push_back(d - channels);
  return expand_dims(of_filters, axes);
}

/// The convolution of input `x` with input `filter`. Inputs `x_zero` and `filter_zero` are their zero points.
Value integer_conv(Context& c, int x, int x_zero, int filter, int filter_zero) {
  const Windows w = over_input(c, c.window_of(filter));
  const Value x_point = c.scalar_if_one(x_zero);
  const Value filter_point = c.scalar_if_one(filter_zero);
  return conv_integer(c.in(x), c.in(filter), x_point, filter_point, w.sliding(), c.integer("group", 1));
}

Outs to_conv_integer(Context& c) {
  return integer_conv(c, 0, 2, 1, 3);
}

Outs to_qlinear_conv(Context& c) {
  enum Input { kX, kXScale, kXZero, kFilter, kFilterScale, kFilterZero, kYScale, kYZero, kBias };
  Value sums = cast(integer_conv(c, kX, kXZero, kFilter, kFilterZero), DType::float64);
  if (c.has(kBias)) sums = sums + by_channel(cast(c.in(kBias), DType::float64), sums, 1);
  const Value x_scale = c.in(kXScale);
  const Value scales = x_scale * c.in(kFilterScale);
  const Value scale = cast(scales / c.in(kYScale), DType::float64);
  const Value y = sums * by_channel(scale, sums, 1);
  const Value one = c.scalar(1, DType::float64);
  return quantize(y, one, c.in(kYZero), c.type(kYZero).dtype);
}

/// MaxUnpool: the image is as large as the area that the windows cover. If a larger image is requested, zeros are added
/// at its end.
Outs to_max_unpool(Context& c) {
  const Windows w(c, c.integers("kernel_shape"), false, false);
  if (c.rank(0) != static_cast<int>(w.dims()) + 2) Context::fail("its window and its input are of different ranks");
  Ints image, behind{0, 0};
  for (std::size_t d = 0; d < w.dims(); ++d) {
    const std::int64_t size = image_size(c, d);
    image.push_back((size - 1) * w.strides[d] + w.size[d] - w.pads[d] - w.pads[d + w.dims()]);
  }
  const Value x = c.in(0);
  const Value y = max_unpool(x, c.in(1), image);
  if (!c.has(2)) return y;
  const Ints wanted = c.ints(2);
  if (wanted.size() != w.dims() + 2) Context::fail("output_shape has " + std::to_string(wanted.size()) + " dims");
  check_sizes(wanted);
  for (std::size_t d = 0; d < w.dims(); ++d) behind.push_back(wanted[d + 2] - image[d]);
  return pad(y, Ints(behind.size()), behind);
}

constexpr ConvertOp kConv[] = {
    {"AveragePool", 1, to_average_pool},
    {"Col2Im", 18, to_col2im},
    {"Conv", 1, to_conv},
    {"ConvInteger", 10, to_conv_integer},
    {"ConvTranspose", 1, to_conv_transpose},
    {"GlobalAveragePool", 1, to_global_pool<mean>},
    {"GlobalLpPool", 2, to_global_lp_pool},
    {"GlobalMaxPool", 1, to_global_pool<max>},
    {"LpPool", 1, to_lp_pool_1},
    {"LpPool", 2, to_lp_pool},
    {"MaxPool", 1, to_max_pool},
    {"MaxUnpool", 9, to_max_unpool},
    {"QLinearConv", 10, to_qlinear_conv},
};

}  // namespace

std::span<const ConvertOp> conv_converters() {
  return kConv;
}

}  // namespace ferry::onnx
