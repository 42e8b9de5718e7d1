// Sliding windows over images [n,channels,rows,columns], as in convolution and pooling.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/kernel.hpp"
#include "kernels/scalar_math.hpp"

namespace ferry {

struct Plane {
  std::int64_t rows = 0, columns = 0;
  [[nodiscard]] FERRY_HD constexpr std::int64_t area() const { return rows * columns; }
  bool operator==(const Plane&) const = default;
};

[[nodiscard]] inline Plane plane_of(const Array& array) {
  return {array.sizes[2], array.sizes[3]};
}

struct Span {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] FERRY_HD constexpr std::int64_t size() const { return end - begin; }
};

/// How windows move along one dim.
struct WindowSteps {
  std::int64_t stride = 1, padding = 0, dilation = 1;

  /// The position in the image of tap `k` of the window at output position `p`. It is outside the image if the tap is
  /// in the padding.
  [[nodiscard]] FERRY_HD constexpr std::int64_t position(std::int64_t p, std::int64_t k) const {
    return p * stride - padding + k * dilation;
  }
  /// The output positions in [0, outputs) with tap `k` inside an image of `size` elements.
  [[nodiscard]] FERRY_HD constexpr Span inside(std::int64_t k, std::int64_t size, std::int64_t outputs) const {
    const std::int64_t first = padding - k * dilation;  // p * stride >= first, p * stride < first + size
    const auto up = [this](std::int64_t n) { return n <= 0 ? 0 : (n + stride - 1) / stride; };
    const std::int64_t begin = std::min(up(first), outputs);
    return {begin, std::clamp(up(first + size), begin, outputs)};
  }
};

struct Slide {
  WindowSteps rows, columns;
  bool padding_free = true;  ///< the first window begins where the image begins

  /// The same windows for a part of the image that begins at `image`, and a part of the outputs that begins at
  /// `outputs` (both for arrays of four dims; empty: the whole array). The padding of the result may be negative.
  [[nodiscard]] Slide over_part(std::span<const std::int64_t> image, std::span<const std::int64_t> outputs) const {
    if (image.empty() || outputs.empty()) return *this;
    Slide part = *this;
    part.rows.padding += image[2] - outputs[2] * rows.stride;
    part.columns.padding += image[3] - outputs[3] * columns.stride;
    part.padding_free = part.rows.padding == 0 && part.columns.padding == 0;
    return part;
  }
};

/// Reads the attributes of the ops in ops/image/conv.hpp.
[[nodiscard]] inline Slide slide_of(const Attrs& attrs) {
  const Ints &strides = attrs.get<Ints>("strides"), &padding = attrs.get<Ints>("padding");
  const Ints dilations = attrs.get_or("dilations", Ints{1, 1});
  Slide slide;
  slide.rows = {strides[0], padding[0], dilations[0]};
  slide.columns = {strides[1], padding[1], dilations[1]};
  slide.padding_free = padding[0] == 0 && padding[1] == 0;
  return slide;
}

}  // namespace ferry
