// Matrices in memory, as the factors of products (product.hpp).
#pragma once

#include "kernels/cuda/product/product.hpp"
#include "kernels/shared/matrices.hpp"

namespace ferry::cuda {

/// The numbers of a matrix, without zero points.
template <class T>
struct Numbers {
  using Value = typename Computed<T>::type;
  /// The begin of a row or a column.
  struct Line {
    const T* from;
  };
  [[nodiscard]] FERRY_DEVICE Line line(std::int64_t from, Index) const { return {data + from}; }
  [[nodiscard]] FERRY_DEVICE Value at(const Line& line, std::int64_t offset) const { return load(line.from[offset]); }
  const T* data;
};

/// 8-bit integers, from which zero points are subtracted: one for all, or one for each row or column.
struct CentredBytes {
  using Value = std::int32_t;
  struct Line {
    const std::uint8_t* from;
    std::int32_t zero;
  };
  CentredBytes(const Array& numbers, const Array& zero_points)
      : data(numbers.as<const std::uint8_t>()),
        zeros(zero_points.as<const std::uint8_t>()),
        zero_step(zero_points.count() > 1 ? 1 : 0),
        flip(numbers.dtype == DType::int8 ? 128 : 0) {}
  [[nodiscard]] FERRY_DEVICE Line line(std::int64_t from, Index number) const {
    return {data + from, zeros[number * zero_step] ^ flip};
  }
  [[nodiscard]] FERRY_DEVICE std::int32_t at(const Line& line, std::int64_t offset) const {
    return (line.from[offset] ^ flip) - line.zero;
  }
  const std::uint8_t *data, *zeros;
  Index zero_step;
  std::int32_t flip;  ///< 128 for int8: `^ flip` adds 128, so that all numbers are unsigned
};

/// Factors of multiply(): the products of matrices, one for each index of leading dims.
template <class Left, class Right, class Out>
struct MatrixFactors {
  using Sum = typename Left::Value;

  /// A column of the result.
  struct Column {
    FERRY_DEVICE void store(Index i, Sum sum) const { to[i * step] = stored_as<Out>(sum); }
    Out* to;
    std::int64_t step;
  };
  struct One {
    [[nodiscard]] FERRY_DEVICE bool left_along_k() const { return all.a_step == 1; }
    [[nodiscard]] FERRY_DEVICE bool right_along_k() const { return all.b_step == 1; }
    [[nodiscard]] FERRY_DEVICE auto left(Index i) const { return all.a.line(a_from + i * all.a_row, i); }
    [[nodiscard]] FERRY_DEVICE auto right(Index j) const { return all.b.line(b_from + j * all.b_column, j); }
    [[nodiscard]] FERRY_DEVICE Sum left_at(const typename Left::Line& row, Index p) const {
      return all.a.at(row, p * all.a_step);
    }
    [[nodiscard]] FERRY_DEVICE Sum right_at(const typename Right::Line& column, Index p) const {
      return all.b.at(column, p * all.b_step);
    }
    [[nodiscard]] FERRY_DEVICE Column column(Index j) const { return {to + j, n}; }

    const MatrixFactors& all;
    Index m, n, k;
    std::int64_t a_from, b_from;
    Out* to;
  };

  [[nodiscard]] FERRY_DEVICE One one(std::int64_t number) const {
    const std::int64_t c_from = number * m * n;
    std::int64_t a_matrix = 0, b_matrix = 0;
    for (int d = dims - 1; d >= 0; --d) {
      const std::int64_t index = d == 0 ? number : number % sizes[d];
      number /= sizes[d];
      a_matrix += index * a_steps[d];
      b_matrix += index * b_steps[d];
    }
    return {*this, m, n, k, a_matrix * m * k, b_matrix * k * n, c + c_from};
  }

  MatrixFactors(const Products& products, Transposed transposed, const Left& left, const Right& right, Out* result)
      : a(left),
        b(right),
        c(result),
        m(static_cast<Index>(products.m)),
        n(static_cast<Index>(products.n)),
        k(static_cast<Index>(products.k)),
        a_row(transposed.a ? 1 : products.k),
        a_step(transposed.a ? products.m : 1),
        b_column(transposed.b ? products.k : 1),
        b_step(transposed.b ? 1 : products.n) {}

  void set_leading(const Nest<2>& leading) {
    dims = leading.dims;
    for (std::size_t d = 0; d < static_cast<std::size_t>(dims); ++d) {
      sizes[d] = leading.sizes[d];
      a_steps[d] = leading.steps[0][d];
      b_steps[d] = leading.steps[1][d];
    }
  }

  Left a;
  Right b;
  Out* c;
  Index m, n, k;
  std::int64_t a_row, a_step, b_column, b_step;  ///< distances between rows of a, columns of b, and steps along k
  int dims = 0;                                  ///< leading dims; `a_steps` and `b_steps` count matrices
  std::int64_t sizes[kMaxDims], a_steps[kMaxDims], b_steps[kMaxDims];
};

[[nodiscard]] inline ProductShape shape_of(const Products& products, Transposed transposed) {
  return {products.count, products.m, products.n, products.k, !transposed.a && transposed.b};
}

}  // namespace ferry::cuda
