// Windows that move over images [n,channels,rows,columns].
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "kernels/cpu/array/transpose.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

struct Plane {
  std::int64_t rows = 0, columns = 0;
  [[nodiscard]] std::int64_t area() const { return rows * columns; }
  bool operator==(const Plane&) const = default;
};

[[nodiscard]] inline Plane plane_of(const Array& array) {
  return {array.sizes[2], array.sizes[3]};
}

struct Span {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// How windows move along one dim.
struct WindowSteps {
  std::int64_t stride = 1, padding = 0, dilation = 1;

  /// The position in the image of tap `k` of the window at output position `p`; it is outside if it is in the padding.
  [[nodiscard]] std::int64_t position(std::int64_t p, std::int64_t k) const {
    return p * stride - padding + k * dilation;
  }
  /// The output positions, of `outputs` in all, whose tap `k` lies in an image of `size`.
  [[nodiscard]] Span inside(std::int64_t k, std::int64_t size, std::int64_t outputs) const {
    const std::int64_t first = padding - k * dilation;  // p * stride >= first, p * stride < first + size
    const auto up = [this](std::int64_t n) { return n <= 0 ? 0 : (n + stride - 1) / stride; };
    const std::int64_t begin = std::min(up(first), outputs);
    return {begin, std::clamp(up(first + size), begin, outputs)};
  }
};

struct Slide {
  WindowSteps rows, columns;
  bool padding_free = true;  ///< the first window begins where the image does

  /// The same windows as they slide over a part of the image that begins there; so do the outputs. (Of arrays of four
  /// dims; empty: all of it.) Padding may then be negative.
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

/// Copies `n` elements. Rows of images are short, so the last ones are copied as a block, too, which may have some that
/// were copied before.
template <class T>
void copy_row(const T* from, std::int64_t n, T* to) {
  constexpr std::int64_t kSize = BlockOf<T>::kSize;
  const auto in_blocks = [&]<std::int64_t size>() {
    for (std::int64_t i = 0; i < n; i += size) {
      const std::int64_t at = std::min(i, n - size);
      __builtin_memcpy(to + at, from + at, size * sizeof(T));
    }
  };
  if (n >= kSize)
    in_blocks.template operator()<kSize>();
  else if (n >= kSize / 2)
    in_blocks.template operator()<kSize / 2>();
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

/// Copies every second element: `n` of them.
template <class T>
void copy_seconds(const T* from, std::int64_t n, T* to) {
  constexpr std::int64_t kSize = BlockOf<T>::kSize;
  std::int64_t i = 0;
  for (; i + kSize < n; i += kSize) {  // not the last ones: there is no element behind them
    typename BlockOf<T>::Row rows[2];
    __builtin_memcpy(rows, from + 2 * i, sizeof rows);
    const auto seconds = [&]<std::size_t... k>(std::index_sequence<k...>) {
      return __builtin_shufflevector(rows[0], rows[1], 2 * static_cast<int>(k)...);
    }
    (std::make_index_sequence<kSize>());
    __builtin_memcpy(to + i, &seconds, sizeof seconds);
  }
  for (; i < n; ++i) to[i] = from[2 * i];
}

/// Copies `n` elements that are `step` apart.
template <class T>
void copy_steps(const T* from, std::int64_t n, std::int64_t step, T* to) {
  if (step == 1) return copy_row(from, n, to);
  if (step == 2) return copy_seconds(from, n, to);
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[step * i];
}

}  // namespace ferry::cpu
