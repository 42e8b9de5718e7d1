// Loops of depthwise convolutions. This file is built with -ffp-contract=fast: a product and its addition become one
// instruction if the processor has it.
#include "kernels/cpu/conv/depthwise_tile.hpp"

#include <algorithm>

#include "kernels/cpu/vector_bytes.hpp"

namespace ferry::cpu {
namespace {

template <class T>
struct VectorOf {
  using Type [[gnu::vector_size(kVectorBytes), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
};
template <class T>
inline constexpr int kLanesOf = kVectorBytes / sizeof(T);

template <class T>
[[gnu::always_inline]] inline typename VectorOf<T>::Type load(const T* from) {
  return *reinterpret_cast<const typename VectorOf<T>::Type*>(from);
}

template <class T>
[[gnu::always_inline]] inline void store(typename VectorOf<T>::Type vector, T* to) {
  *reinterpret_cast<typename VectorOf<T>::Type*>(to) = vector;
}

/// Stores the first `n` elements, at least half of the vector, as two halves that overlap.
template <class T>
[[gnu::always_inline]] inline void store_part(typename VectorOf<T>::Type vector, std::int64_t n, T* to) {
  constexpr int kHalf = kLanesOf<T> / 2;
  T elements[2 * kHalf];
  store(vector, elements);
  __builtin_memcpy(to, elements, kHalf * sizeof(T));
  __builtin_memcpy(to + n - kHalf, elements + n - kHalf, kHalf * sizeof(T));
}

/// Loads a vector that is used several times. Without the asm statement GCC loads it again for each use. Such a load
/// takes longer than the product if the vector is in two cache lines.
template <class T>
[[gnu::always_inline]] inline typename VectorOf<T>::Type load_once(const T* from) {
  typename VectorOf<T>::Type loaded = load(from);
#if defined(__x86_64__)
  asm("" : "+v"(loaded));
#endif
  return loaded;
}

// ---- Runs of elements ----

/// Computes one vector of each of `together` runs.
template <class T, int together>
void sum_vectors(std::int64_t taps, const T* weights, const std::int64_t* offsets, const T* x, const std::int64_t* from,
                 T* y, const std::int64_t* to) {
  typename VectorOf<T>::Type sums[together] = {};
  const T* run[together];
#pragma GCC unroll 8
  for (int i = 0; i < together; ++i) run[i] = x + from[i];
  for (std::int64_t t = 0; t < taps; ++t) {
    const auto weight = load(weights + t * kRun);
#pragma GCC unroll 8
    for (int i = 0; i < together; ++i) sums[i] += weight * load(run[i] + offsets[t]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < together; ++i) store(sums[i], y + to[i]);
}

template <class T>
void sum_runs(std::int64_t taps, const T* weights, const std::int64_t* offsets, const T* x, std::int64_t n,
              const std::int64_t* from, T* y, const std::int64_t* to) {
  const auto sum = [&]<int together>() {
    for (; n >= together; n -= together, from += together, to += together)
      for (std::int64_t v = 0; v < kRun; v += kLanesOf<T>)
        sum_vectors<T, together>(taps, weights + v, offsets, x + v, from, y + v, to);
  };
  sum.template operator()<8>();
  sum.template operator()<4>();
  sum.template operator()<2>();
  sum.template operator()<1>();
}

// ---- Products of runs ----

/// Computes one vector of the sums of `together` taps.
template <class T, int together>
void multiply_vectors(const std::int64_t* offsets, const T* x, std::int64_t n, const std::int64_t* from, const T* z,
                      const std::int64_t* at, T* y) {
  typename VectorOf<T>::Type sums[together];
#pragma GCC unroll 9
  for (int t = 0; t < together; ++t) sums[t] = load(y + t * kRun);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto factor = load(z + at[i]);
    const T* const run = x + from[i];
#pragma GCC unroll 9
    for (int t = 0; t < together; ++t) sums[t] += load(run + offsets[t]) * factor;
  }
#pragma GCC unroll 9
  for (int t = 0; t < together; ++t) store(sums[t], y + t * kRun);
}

template <class T>
void sum_products(std::int64_t taps, const std::int64_t* offsets, const T* x, std::int64_t n, const std::int64_t* from,
                  const T* z, const std::int64_t* at, T* y) {
  const auto sum = [&]<int together>() {
    for (; taps >= together; taps -= together, offsets += together, y += together * kRun)
      for (std::int64_t v = 0; v < kRun; v += kLanesOf<T>)
        multiply_vectors<T, together>(offsets, x + v, n, from, z + v, at, y + v);
  };
  sum.template operator()<9>();
  sum.template operator()<7>();
  sum.template operator()<3>();
  sum.template operator()<1>();
}

// ---- Rows ----

/// Computes a vector of each of kRowsAtOnce rows.
template <class T, int size, int stride>
[[gnu::always_inline]] inline void sum_columns(const T* weights, const std::int64_t* offsets, const T* x,
                                               std::int64_t x_pitch, typename VectorOf<T>::Type (&sums)[kRowsAtOnce]) {
#pragma GCC unroll 16
  for (int row = 0; row < (kRowsAtOnce - 1) * stride + size; ++row)
#pragma GCC unroll 8
    for (int l = 0; l < size; ++l) {
      const auto elements = load_once(x + offsets[row % stride * size + l] + row / stride * x_pitch);
#pragma GCC unroll 4
      for (int r = 0; r < kRowsAtOnce; ++r) {
        const int k = row - r * stride;
        if (0 <= k && k < size) sums[r] += weights[k * size + l] * elements;
      }
    }
}

template <class T, int size, int stride>
void sum_rows(const T* weights, const std::int64_t* offsets, const T* x, const RowsToSum& rows, T* y) {
  constexpr std::int64_t kLanes = kLanesOf<T>;
  T held[size * size];  // a copy, so that GCC knows that writing to y does not change the weights
  __builtin_memcpy(held, weights, sizeof held);
  for (std::int64_t r = 0; r < rows.rows; r += kRowsAtOnce) {
    const std::int64_t row = std::min(r, rows.rows - kRowsAtOnce);
    for (std::int64_t c = 0; c < rows.columns; c += kLanes) {
      const std::int64_t column = std::clamp<std::int64_t>(rows.columns - kLanes, 0, c);
      typename VectorOf<T>::Type sums[kRowsAtOnce] = {};
      sum_columns<T, size, stride>(held, offsets, x + row * rows.x_pitch + column, rows.x_pitch, sums);
      const bool whole = rows.columns >= kLanes || row + kRowsAtOnce < rows.rows;  // else no row follows
      T* const to = y + row * rows.y_pitch + column;
#pragma GCC unroll 4
      for (int i = 0; i < kRowsAtOnce; ++i) {
        if (whole || i + 1 < kRowsAtOnce)
          store(sums[i], to + i * rows.y_pitch);
        else
          store_part(sums[i], rows.columns, to + i * rows.y_pitch);
      }
    }
  }
}

/// There are no loops over rows for double, to keep the library small.
constexpr DepthwiseTileSet tiles() {
  return {.of_float = {.runs = sum_runs<float>,
                       .products = sum_products<float>,
                       .rows = {{sum_rows<float, 3, 1>, sum_rows<float, 3, 2>},
                                {sum_rows<float, 5, 1>, sum_rows<float, 5, 2>},
                                {sum_rows<float, 7, 1>, sum_rows<float, 7, 2>}}},
          .of_double = {.runs = sum_runs<double>, .products = sum_products<double>, .rows = {}}};
}

}  // namespace

constexpr DepthwiseTileSet FERRY_DEPTHWISE_TILES = tiles();

}  // namespace ferry::cpu
