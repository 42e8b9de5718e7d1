// The innermost loops of depthwise convolutions. They are built once for each instruction set; kernels of all levels
// use the best loops for the processor.
#pragma once

#include <cstdint>

namespace ferry::cpu {

/// The elements of a run: consecutive elements that these loops compute together, on any processor.
inline constexpr std::int64_t kRun = 16;

/// y[to[i] + v] = sum over t < taps of weights[t * kRun + v] * x[from[i] + offsets[t] + v], for i < n and v < kRun.
/// Terms are added in the order of t.
template <class T>
using SumRuns = void (*)(std::int64_t taps, const T* weights, const std::int64_t* offsets, const T* x, std::int64_t n,
                         const std::int64_t* from, T* y, const std::int64_t* to);

/// y[t * kRun + v] += sum over i < n of x[from[i] + offsets[t] + v] * z[at[i] + v], for t < taps and v < kRun. Terms
/// are added in the order of i.
template <class T>
using SumProducts = void (*)(std::int64_t taps, const std::int64_t* offsets, const T* x, std::int64_t n,
                             const std::int64_t* from, const T* z, const std::int64_t* at, T* y);

/// The sizes of a SumRows. Rows of x and of y are `x_pitch` and `y_pitch` elements apart.
struct RowsToSum {
  std::int64_t rows, columns, x_pitch, y_pitch;
};

/// The least number of rows of a SumRows.
inline constexpr std::int64_t kRowsAtOnce = 4;
/// The least number of columns of a SumRows. It reads kRun elements of a row that has fewer. It writes beyond the end
/// of a row only to the row that follows, before that row's own elements.
inline constexpr std::int64_t kLeastColumns = 12;

/// y[r, c] = sum over k < K and l < K of weights[k, l] * x[r + k / S, c + offsets[k % S * K + l]], for r < rows and c <
/// columns. K is the size of the filter. S is the stride between rows of the image; x has the rows with each remainder
/// modulo S in a part of its own. Terms are added in the order of k, then l.
template <class T>
using SumRows = void (*)(const T* weights, const std::int64_t* offsets, const T* x, const RowsToSum& rows, T* y);

template <class T>
struct DepthwiseTiles {
  SumRuns<T> runs;
  SumProducts<T> products;
  SumRows<T> rows[3][2];  ///< for filters of 3 × 3, 5 × 5 and 7 × 7, and strides 1 and 2; or nullptr
};

struct DepthwiseTileSet {
  DepthwiseTiles<float> of_float;
  DepthwiseTiles<double> of_double;
};

/// The set for this processor.
[[nodiscard]] const DepthwiseTileSet& depthwise_tiles();

template <class T>
[[nodiscard]] const DepthwiseTiles<T>& depthwise_tiles_of();
template <>
[[nodiscard]] inline const DepthwiseTiles<float>& depthwise_tiles_of<float>() {
  return depthwise_tiles().of_float;
}
template <>
[[nodiscard]] inline const DepthwiseTiles<double>& depthwise_tiles_of<double>() {
  return depthwise_tiles().of_double;
}

extern const DepthwiseTileSet ferry_depthwise_tiles_baseline, ferry_depthwise_tiles_v3, ferry_depthwise_tiles_v4;

}  // namespace ferry::cpu
