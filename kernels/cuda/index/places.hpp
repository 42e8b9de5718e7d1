// Indices that are data, and the rows or elements of a value that they name.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cuda/divide.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/shared/indices.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {

/// The offset of element i in the nest's input.
FERRY_DEVICE inline std::int64_t offset_in(const Nest<1>& nest, std::int64_t i) {
  std::int64_t offset = 0;
  for (int d = nest.dims - 1; d > 0; --d) {
    const auto k = static_cast<std::size_t>(d);
    const auto [outer, index] = divided(i, nest.sizes[k]);
    offset += index * nest.steps[0][k];
    i = outer;
  }
  return nest.dims > 0 ? offset + i * nest.steps[0][0] : 0;
}

/// The elements of an array of integers.
class Integers {
 public:
  explicit Integers(const Array& array) : data_(array.data), dtype_(array.dtype) {}
  FERRY_DEVICE std::int64_t operator[](std::int64_t i) const {
    switch (dtype_) {
      case DType::int8:
        return at<std::int8_t>(i);
      case DType::uint8:
        return at<std::uint8_t>(i);
      case DType::int16:
        return at<std::int16_t>(i);
      case DType::uint16:
        return at<std::uint16_t>(i);
      case DType::int32:
        return at<std::int32_t>(i);
      case DType::uint32:
        return at<std::uint32_t>(i);
      default:  // int64 and uint64: a uint64 above the range of int64 becomes negative, and names no class of OneHot
        return at<std::int64_t>(i);
    }
  }

 private:
  template <class T>
  FERRY_DEVICE std::int64_t at(std::int64_t i) const {
    return reinterpret_cast<const T*>(data_)[i];
  }
  const std::byte* data_;
  DType dtype_;
};

/// The result of the functors below for an index that is out of range. They report the index as a bad value.
inline constexpr std::int64_t kNowhere = -1;

/// For Gather along an axis: row `at` of the result is row RowsAlongAxis(at) of x, which is [before, rows, …].
struct RowsAlongAxis {
  Integers indices;
  std::int64_t taken, rows;  ///< taken: the number of indices
  BadReport report;

  FERRY_DEVICE std::int64_t operator()(std::int64_t at) const {
    const auto [outer, i] = divided(at, taken);
    const std::int64_t index = indices[i];
    if (is_index(index, rows)) return outer * rows + from_front(index, rows);
    report(Bad::row, 1, index, rows);
    return kNowhere;
  }
};

/// For GatherND and ScatterND: the block of x [batch…, sizes…, block…] that a row of the indices [batch…, rows…, k]
/// names.
struct BlocksAt {
  Integers indices;
  std::int64_t rows_of_batch;
  int k;
  std::array<std::int64_t, kMaxDims> sizes;
  BadReport report;

  FERRY_DEVICE std::int64_t operator()(std::int64_t row) const {
    std::int64_t block = divided(row, rows_of_batch).whole;
    for (int j = 0; j < k; ++j) {
      const std::int64_t size = sizes[j], index = indices[row * k + j];
      if (!is_index(index, size)) {
        report(Bad::index, 1, index, size);
        return kNowhere;
      }
      block = block * size + from_front(index, size);
    }
    return block;
  }
};

/// For GatherElements and ScatterElements: the element of x that each index names.
struct ElementsAt {
  Integers indices;
  Nest<1> beside;
  std::int64_t size, step;  ///< of x along the axis
  BadReport report;

  FERRY_DEVICE std::int64_t operator()(std::int64_t i) const {
    const std::int64_t index = indices[i];
    if (is_index(index, size)) return offset_in(beside, i) + from_front(index, size) * step;
    report(Bad::index, 1, index, size);
    return kNowhere;
  }
};

/// The rows of x that indices name.
template <class Place>
struct IndexedRows {
  Place place;
  std::int64_t rows;   ///< number of indexed rows
  std::int64_t width;  ///< elements of a row
  std::int64_t all;    ///< number of rows of x
};

/// For GatherElements and ScatterElements.
[[nodiscard]] inline IndexedRows<ElementsAt> elements_at(const KernelRun& run, int axis) {
  const Array &x = run.inputs[0], &indices = run.inputs[1];
  const auto along = static_cast<std::size_t>(axis);
  return {{Integers(indices), nest_beside_axis(x, indices, axis), x.sizes[along], strides_of(x.sizes)[along],
           report_of(run)},
          indices.count(),
          1,
          x.count()};
}

/// For GatherND and ScatterND.
[[nodiscard]] inline IndexedRows<BlocksAt> blocks_at(const KernelRun& run, int batch_dims) {
  const Array &x = run.inputs[0], &indices = run.inputs[1];
  const auto k = static_cast<int>(indices.sizes.back());
  require_dims(static_cast<std::size_t>(k));
  const std::int64_t batches = product(indices.sizes, 0, batch_dims);
  const std::int64_t rows = indices.count() / k, found = product(x.sizes, batch_dims, batch_dims + k);
  BlocksAt place{Integers(indices), batches == 0 ? 0 : rows / batches, k, {}, report_of(run)};
  std::copy_n(x.sizes.begin() + batch_dims, k, place.sizes.begin());
  return {place, rows, product(x.sizes, batch_dims + k, x.rank()), batches * found};
}

}  // namespace ferry::cuda
