// Transposes a matrix in square blocks with one vector for each row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/system/cache_lines.hpp"

namespace ferry::cpu {

#ifdef __AVX2__
inline constexpr int kBlockBytes = 32;
#else
inline constexpr int kBlockBytes = 16;
#endif

template <class T>
struct BlockOf {
  static constexpr int kSize = kBlockBytes / sizeof(T);
  using Row [[gnu::vector_size(kBlockBytes)]] = T;
};

/// One step of transposing. Treats rows a and b as blocks of `half` elements, in pairs of a left and a right block.
/// Returns the row that takes the left (or right) block of each pair, alternately from a and from b.
template <int half, bool right, class Row, std::size_t... I>
Row exchanged(Row a, Row b, std::index_sequence<I...>) {
  constexpr int kSize = sizeof...(I);
  constexpr auto kFrom = [](int i) {
    return i / half % 2 == 0 ? i + (right ? half : 0) : kSize + i - (right ? 0 : half);
  };
  return __builtin_shufflevector(a, b, kFrom(static_cast<int>(I))...);
}

template <int half, class Row, int size>
void exchange_blocks(Row (&rows)[size]) {
  if constexpr (half < size) {
    constexpr auto kIndices = std::make_index_sequence<size>();
#pragma GCC unroll 32
    for (int i = 0; i < size; ++i) {
      if ((i & half) != 0) continue;
      const Row a = rows[i], b = rows[i + half];
      rows[i] = exchanged<half, false>(a, b, kIndices);
      rows[i + half] = exchanged<half, true>(a, b, kIndices);
    }
    exchange_blocks<2 * half>(rows);
  }
}

/// Transposes one square block; each of its rows is a vector.
template <class T>
void transpose_block(const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  constexpr int kSize = BlockOf<T>::kSize;
  typename BlockOf<T>::Row rows[kSize];
#pragma GCC unroll 32
  for (int i = 0; i < kSize; ++i) __builtin_memcpy(&rows[i], from + i * from_step, kBlockBytes);
  exchange_blocks<1>(rows);
#pragma GCC unroll 32
  for (int i = 0; i < kSize; ++i) __builtin_memcpy(to + i * to_step, &rows[i], kBlockBytes);
}

/// The matrix whose rows the caller continues to read or write after this call: transpose() prefetches the next
/// elements of these rows.
enum class PrefetchNext { nowhere, in_source, in_target };

/// Prefetches in rows that are at least a page apart, because the hardware prefetches only within a page.
template <class T>
void fetch_rows(const T* at, std::int64_t step, std::int64_t rows, void (*fetch)(const void*)) {
  constexpr std::int64_t kAhead = 256, kPage = 4096;
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  if (step < kPage / kBytes) return;
  for (std::int64_t r = 0; r < rows; ++r) fetch(at + r * step + kAhead / kBytes);
}

/// to[c * to_step + r] = from[r * from_step + c] for r < rows and c < columns.
template <class T>
void transpose(const T* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, T* to,
               std::int64_t to_step, PrefetchNext prefetch_next = PrefetchNext::nowhere) {
  constexpr std::int64_t kSize = BlockOf<T>::kSize;
  constexpr std::int64_t kLine =
      std::max<std::int64_t>(kSize, kCacheLine / sizeof(T));  // so that whole cache lines are written
  const std::int64_t whole_rows = rows / kSize * kSize, whole_columns = columns / kSize * kSize;
  for (std::int64_t begin = 0; begin < whole_columns; begin += kLine)
    for (std::int64_t first = 0; first < whole_rows; first += kLine) {
      if (prefetch_next == PrefetchNext::in_source)
        fetch_rows(from + first * from_step + begin, from_step, std::min(kLine, whole_rows - first), fetch_to_read);
      if (prefetch_next == PrefetchNext::in_target)
        fetch_rows(to + begin * to_step + first, to_step, std::min(kLine, whole_columns - begin), fetch_to_write);
      for (std::int64_t c = begin; c < std::min(begin + kLine, whole_columns); c += kSize)
        for (std::int64_t r = first; r < std::min(first + kLine, whole_rows); r += kSize)
          transpose_block(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
    }
  const auto one_by_one = [&](std::int64_t first_row, std::int64_t first_column, std::int64_t last_column) {
    for (std::int64_t r = first_row; r < rows; ++r)
      for (std::int64_t c = first_column; c < last_column; ++c) to[c * to_step + r] = from[r * from_step + c];
  };
  one_by_one(whole_rows, 0, whole_columns);
  one_by_one(0, whole_columns, columns);
}

}  // namespace ferry::cpu
