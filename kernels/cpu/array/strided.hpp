// Runs strided copies (kernels/shared/strided_copy.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "base/system/cache_lines.hpp"
#include "kernels/cpu/array/transpose.hpp"
#include "kernels/cpu/elements/elements.hpp"
#include "kernels/kernel.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/strided_copy.hpp"

namespace ferry::cpu {

/// Runs one strided copy.
class StridedCopyRunner {
 public:
  StridedCopyRunner(Parallel& parallel, const StridedCopy& copy) : parallel_(parallel), copy_(copy), nest_(copy.nest) {}

  template <class T>
  void run(const T* from, T* to) const {
    if constexpr (sizeof(T) >= 4) {
      const int rows = copy_.transposed_dim();
      if (rows >= 0) return run_transposed(static_cast<std::size_t>(rows), from, to);
    }
    for_chunks(parallel_, copy_.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      const auto last = static_cast<std::size_t>(nest_.dims - 1);
      Walk<2> walk(nest_, begin);
      while (begin < end) {
        const std::int64_t n = std::min(walk.run(), end - begin);
        copy_run(n, from + walk.offset(0), nest_.steps[0][last], to + walk.offset(1), nest_.steps[1][last]);
        walk.advance(n);
        begin += n;
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 64;  // the rows and columns of a block that is transposed as a whole
  template <class T>
  static constexpr std::int64_t kOfLine = kCacheLine / static_cast<std::int64_t>(sizeof(T));
  template <class T>
  static constexpr std::int64_t kPitch = kBlock + kOfLine<T>;  // padded, so that the rows of a block are in different
                                                               // cache sets

  /// Transposes blocks of `dim` and the last dim, for each index of the other dims. Consecutive blocks read the same
  /// source rows, so the pages of these rows stay in the TLB.
  template <class T>
  void run_transposed(std::size_t dim, const T* from, T* to) const {
    const auto last = static_cast<std::size_t>(nest_.dims - 1);
    Nest<2> outer = nest_;
    for (const std::size_t d : {dim, last}) {
      outer.sizes[d] = (nest_.sizes[d] + kBlock - 1) / kBlock;
      for (auto& steps : outer.steps) steps[d] *= kBlock;
    }
    const std::int64_t count =
        copy_.count / (nest_.sizes[dim] * nest_.sizes[last]) * outer.sizes[dim] * outer.sizes[last];
    std::swap(outer.sizes[dim], outer.sizes[last]);
    for (auto& steps : outer.steps) std::swap(steps[dim], steps[last]);
    const bool bypasses = bypasses_caches(dim, to);
    const std::int64_t block = std::min(kBlock, nest_.sizes[last]) * std::min(kBlock, nest_.sizes[dim]);
    for_chunks(parallel_, count, grain_of(block), [&](std::int64_t begin, std::int64_t end) {
      alignas(kCacheLine) T buffers[2 * kBlock * kPitch<T>];
      Walk<2> walk(outer, begin);
      for (; begin < end; ++begin, walk.advance(1)) {
        const std::int64_t rows = std::min(kBlock, nest_.sizes[last] - walk.index(dim) * kBlock);
        const std::int64_t columns = std::min(kBlock, nest_.sizes[dim] - walk.index(last) * kBlock);
        const std::int64_t from_step = nest_.steps[0][last], to_step = nest_.steps[1][dim];
        if (bypasses)
          transpose_uncached(from + walk.offset(0), from_step, rows, columns, to + walk.offset(1), to_step, buffers);
        else
          transpose(from + walk.offset(0), from_step, rows, columns, to + walk.offset(1), to_step);
      }
      if (bypasses) stream_fence();
    });
  }

  /// Whether to write around the caches: the target is too large for them, and its blocks consist of whole cache lines.
  template <class T>
  [[nodiscard]] bool bypasses_caches(std::size_t dim, const T* to) const {
    constexpr std::int64_t kLarge = 8 << 20;
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
    bool whole = reinterpret_cast<std::uintptr_t>(to) % kCacheLine == 0;
    for (std::size_t d = 0; d + 1 < static_cast<std::size_t>(nest_.dims); ++d)
      whole = whole && nest_.steps[1][d] * kBytes % kCacheLine == 0;
    return whole && copy_.count * kBytes >= kLarge && nest_.sizes[dim] >= kBlock &&
           nest_.sizes[nest_.dims - 1] >= kBlock;
  }

  /// Transposes a block in the cache and writes it around the cache, while prefetching the next columns of its rows.
  template <class T>
  [[gnu::noinline]] static void transpose_uncached(const T* from, std::int64_t from_step, std::int64_t rows,
                                                   std::int64_t columns, T* to, std::int64_t to_step, T* buffers) {
    T* const turned = buffers + kBlock * kPitch<T>;
    for (std::int64_t r = 0; r < rows; ++r, from += from_step) {
      std::copy_n(from, columns, buffers + r * kPitch<T>);
      for (std::int64_t c = 0; c < kBlock; c += kOfLine<T>) fetch_to_read(from + kBlock + c);
    }
    transpose(buffers, kPitch<T>, rows, columns, turned, kPitch<T>);
    const std::int64_t whole = rows / kOfLine<T> * kOfLine<T>;
    for (std::int64_t c = 0; c < columns; ++c, to += to_step) {
      const T* const row = turned + c * kPitch<T>;
      stream_lines(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(row),
                   static_cast<std::size_t>(whole) * sizeof(T));
      std::copy_n(row + whole, rows - whole, to + whole);
    }
  }

  template <class T>
  static void copy_run(std::int64_t n, const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
    if (from_step == 1 && to_step == 1) {
      std::copy_n(from, n, to);
    } else if (from_step == 0 && to_step == 1) {
      std::fill_n(to, n, *from);
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
    }
  }

  Parallel& parallel_;
  const StridedCopy& copy_;
  const Nest<2>& nest_;
};

inline void run_copy(Parallel& parallel, StridedCopy& copy, DType dtype, const std::byte* from, std::byte* to) {
  if (copy.count == 0) return;  // an empty array may have no address
  if (copy.nest.dims == 0) {
    copy.nest.dims = 1;
    copy.nest.sizes[0] = 1;
    copy.nest.steps[0][0] = copy.nest.steps[1][0] = 1;
  }
  dispatch_sizes(dtype, [&](auto zero) {
    using T = decltype(zero);
    StridedCopyRunner(parallel, copy)
        .run(reinterpret_cast<const T*>(from) + copy.from_begin, reinterpret_cast<T*>(to) + copy.to_begin);
  });
}

/// Sets every element to the element at `value`.
inline void fill(Parallel& parallel, const Array& array, const void* value) {
  dispatch_sizes(array.dtype, [&](auto zero) {
    decltype(zero) element;
    std::memcpy(&element, value, sizeof element);
    for_chunks(parallel, array.count(), kElementGrain * 4, [&](std::int64_t begin, std::int64_t end) {
      std::fill(array.as<decltype(zero)>() + begin, array.as<decltype(zero)>() + end, element);
    });
  });
}
inline void fill_zeros(Parallel& parallel, const Array& array) {
  constexpr std::uint64_t kZero = 0;
  fill(parallel, array, &kZero);
}

}  // namespace ferry::cpu
