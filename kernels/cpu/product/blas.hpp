// Products of floating-point matrices, by OpenBLAS or Eigen. The build chooses the library.
#pragma once

#include <cstdint>
#include <string_view>

namespace ferry::cpu {

/// A matrix in row-major order, with `step` elements from row to row. If `transposed`, its rows are used as columns.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t step;
  bool transposed;
};

/// c = a b, or c += a b if `add`. c is [m,n] with `c_step` elements from row to row; a is [m,k] and b [k,n] after
/// transposition. Computes on the calling thread only. Thread-safe. Sizes and steps must fit an int. m, n, k > 0.
void multiply(int m, int n, int k, const Matrix<float>& a, const Matrix<float>& b, float* c, std::int64_t c_step,
              bool add = false);
void multiply(int m, int n, int k, const Matrix<double>& a, const Matrix<double>& b, double* c, std::int64_t c_step,
              bool add = false);

/// The name of the library and of the code that it selected for this machine. If two machines have different names,
/// results may differ in their bits.
[[nodiscard]] std::string_view blas_name();

}  // namespace ferry::cpu
