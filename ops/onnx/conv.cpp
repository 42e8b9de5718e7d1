// Convolution and pooling.
#include "ops/conv.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ops/math.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/reduce.hpp"
#include "ops/reshape.hpp"

namespace ferry::onnx {
namespace {

/// How the windows of a node move, of two dims; of one dim it is a column of images of one row.
struct Windows {
  Ints size;
  Sliding sliding;
  bool flat = false;
};

/// Padding of a dim so that its output has size / stride positions, the odd element behind or in front.
std::pair<std::int64_t, std::int64_t> same(std::int64_t size, std::int64_t window, std::int64_t stride,
                                           std::int64_t dilation, bool behind) {
  const std::int64_t covered = (window - 1) * dilation + 1;
  const std::int64_t total = std::max<std::int64_t>(((size + stride - 1) / stride - 1) * stride + covered - size, 0);
  return behind ? std::pair(total / 2, total - total / 2) : std::pair(total - total / 2, total / 2);
}

Windows windows(Context& c, Ints size) {
  const auto dims = static_cast<std::size_t>(c.rank(0)) - 2;
  if (dims < 1 || dims > 2) Context::fail("windows over " + std::to_string(dims) + " dims are not imported");
  Windows w{std::move(size), {}, dims == 1};
  Ints strides = c.integers("strides", Ints(dims, 1)), dilations = c.integers("dilations", Ints(dims, 1)),
       pads = c.integers("pads", Ints(2 * dims, 0));
  if (w.size.size() != dims || strides.size() != dims || dilations.size() != dims || pads.size() != 2 * dims)
    Context::fail("its window, strides, dilations or pads do not fit an input of rank " + std::to_string(dims + 2));
  const std::string automatic = c.text("auto_pad", "NOTSET");
  for (std::size_t d = 0; d < dims; ++d) {
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
      std::tie(pads[d], pads[d + dims]) = same(c.size(0, static_cast<std::int64_t>(d) + 2), w.size[d], strides[d],
                                               dilations[d], automatic == "SAME_UPPER");
    else if (automatic == "VALID")
      pads[d] = pads[d + dims] = 0;
  }
  if (w.flat) {
    w.size.insert(w.size.begin(), 1);
    strides.insert(strides.begin(), 1);
    dilations.insert(dilations.begin(), 1);
    pads = {0, pads[0], 0, pads[1]};
  }
  w.sliding = {strides, pads, dilations};
  return w;
}

/// x as images.
Value images(const Value& x, const Windows& w) {
  return w.flat ? expand_dims(x, {2}) : x;
}
Value from_images(const Value& y, const Windows& w) {
  return w.flat ? squeeze(y, {2}) : y;
}

Outs to_conv(Context& c) {
  const Ints filter = c.sizes(1);
  const Windows w = windows(c, Ints(filter.begin() + 2, filter.end()));
  const Value x = images(c.in(0), w);
  const Value taps = images(c.in(1), w);
  const Value y = from_images(conv2d(x, taps, w.sliding, c.integer("group", 1)), w);
  if (!c.has(2)) return y;
  Ints axes;
  for (int d = 2; d < c.rank(0); ++d) axes.push_back(d - 1);
  const Value bias = expand_dims(c.in(2), axes);
  return y + bias;
}

using Pool = Value (*)(const Value&, Ints, const Sliding&, source_location);

template <Pool f>
Outs to_pool(Context& c) {
  const Windows w = windows(c, c.integers("kernel_shape"));
  if (c.integer("ceil_mode", 0) != 0) Context::fail("ceil_mode is not imported");
  if (c.integer("count_include_pad", 0) != 0) Context::fail("count_include_pad is not imported");
  if (c.wants(1)) Context::fail("indices of the largest elements are not imported");
  return from_images(f(images(c.in(0), w), w.size, w.sliding, source_location::current()), w);
}

using Reduce = Value (*)(const Value&, Ints, bool, source_location);

template <Reduce f>
Outs to_global_pool(Context& c) {
  Ints axes;
  for (int d = 2; d < c.rank(0); ++d) axes.push_back(d);
  return f(c.in(0), axes, true, source_location::current());
}

constexpr Converter kConv[] = {
    {"AveragePool", 1, to_pool<avg_pool2d>},
    {"Conv", 1, to_conv},
    {"GlobalAveragePool", 1, to_global_pool<mean>},
    {"GlobalMaxPool", 1, to_global_pool<max>},
    {"MaxPool", 1, to_pool<max_pool2d>},
};

}  // namespace

std::span<const Converter> conv_converters() {
  return kConv;
}

}  // namespace ferry::onnx
