// Copies of rows of images.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/array/transpose.hpp"
#include "kernels/shared/slide.hpp"

namespace ferry::cpu {

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

/// A vector of the elements at `from`.
template <class T>
typename BlockOf<T>::Row vector_at(const T* from) {
  typename BlockOf<T>::Row found;
  __builtin_memcpy(&found, from, sizeof found);
  return found;
}

/// A vector of every second element of two vectors at `from`: those at even (or odd) places.
template <class T, int odd>
typename BlockOf<T>::Row seconds_of(const T* from) {
  constexpr int kSize = BlockOf<T>::kSize;
  const auto low = vector_at(from), high = vector_at(from + kSize);
  return [&]<std::size_t... k>(std::index_sequence<k...>) {
    return __builtin_shufflevector(low, high, 2 * static_cast<int>(k) + odd...);
  }
  (std::make_index_sequence<kSize>());
}

/// Copies every second element: `n` of them.
template <class T>
void copy_seconds(const T* from, std::int64_t n, T* to) {
  constexpr std::int64_t kSize = BlockOf<T>::kSize;
  std::int64_t i = 0;
  for (; i + kSize < n; i += kSize) {  // not the last ones: there is no element behind them
    const auto seconds = seconds_of<T, 0>(from + 2 * i);
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
