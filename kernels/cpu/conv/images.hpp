// Copies rows of images.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/array/transpose.hpp"
#include "kernels/shared/slide.hpp"

namespace ferry::cpu {

/// Loads a vector from `from`.
template <class T>
typename BlockOf<T>::Row vector_at(const T* from) {
  typename BlockOf<T>::Row found;
  __builtin_memcpy(&found, from, sizeof found);
  return found;
}

/// Returns a vector of every second of the `2 * size` elements at `from`: the elements at even (or odd) places.
template <class T, int odd, int size = BlockOf<T>::kSize>
auto every_second(const T* from) {
  using SizedVector [[gnu::vector_size(size * sizeof(T))]] = T;
  SizedVector low, high;
  __builtin_memcpy(&low, from, sizeof low);
  __builtin_memcpy(&high, from + size, sizeof high);
  return [&]<std::size_t... k>(std::index_sequence<k...>) {
    return __builtin_shufflevector(low, high, 2 * static_cast<int>(k) + odd...);
  }
  (std::make_index_sequence<size>());
}

/// Copies `n` elements, at least `size`, in blocks. The last block overlaps the block before it.
template <class T, int size>
void copy_blocks(const T* from, std::int64_t n, T* to) {
  for (std::int64_t i = 0; i < n - size; i += size) __builtin_memcpy(to + i, from + i, size * sizeof(T));
  __builtin_memcpy(to + n - size, from + n - size, size * sizeof(T));
}

/// Copies every second element: `n` elements, more than `size`. The last block loads from one element earlier, because
/// there may be no memory behind the last element.
template <class T, int size>
void copy_every_second(const T* from, std::int64_t n, T* to) {
  const auto put = [to](std::int64_t at, const auto& some) { __builtin_memcpy(to + at, &some, sizeof some); };
  for (std::int64_t i = 0; i < n - size; i += size) put(i, every_second<T, 0, size>(from + 2 * i));
  put(n - size, every_second<T, 1, size>(from + 2 * (n - size) - 1));
}

/// The rows to copy: `n` elements of each, `step` apart in the source.
struct RowsToCopy {
  std::int64_t rows, n, step;
  std::int64_t from_pitch, to_pitch;  ///< the distance from one row to the next
};

/// Copies rows. They are often short in images, so the choice of the loop is made once for all rows, and rows shorter
/// than a vector are copied by half vectors.
template <class T>
void copy_rows(const RowsToCopy& all, const T* from, T* to) {
  constexpr int kSize = BlockOf<T>::kSize, kHalf = std::max(kSize / 2, 2);
  const std::int64_t n = all.n;
  const auto each = [&](const auto& copy) {
    for (std::int64_t r = 0; r < all.rows; ++r) copy(from + r * all.from_pitch, to + r * all.to_pitch);
  };
  if (all.step == 1 && n >= kSize) return each([n](const T* x, T* y) { copy_blocks<T, kSize>(x, n, y); });
  if (all.step == 1 && n >= kHalf) return each([n](const T* x, T* y) { copy_blocks<T, kHalf>(x, n, y); });
  if (all.step == 2 && n > kSize) return each([n](const T* x, T* y) { copy_every_second<T, kSize>(x, n, y); });
  if (all.step == 2 && n > kHalf) return each([n](const T* x, T* y) { copy_every_second<T, kHalf>(x, n, y); });
  each([&all](const T* x, T* y) {
    for (std::int64_t i = 0; i < all.n; ++i) y[i] = x[i * all.step];
  });
}

/// Copies `n` elements that are `step` apart.
template <class T>
void copy_strided(const T* from, std::int64_t n, std::int64_t step, T* to) {
  copy_rows({.rows = 1, .n = n, .step = step, .from_pitch = 0, .to_pitch = 0}, from, to);
}

}  // namespace ferry::cpu
