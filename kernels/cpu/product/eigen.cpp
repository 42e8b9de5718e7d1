// Products by Eigen, for builds without OpenBLAS.
#include <Eigen/Core>

#include "kernels/cpu/product/blas.hpp"

namespace ferry::cpu {
namespace {

template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<const Rows<T>, 0, Eigen::OuterStride<>>;

/// Sets the cache sizes that Eigen uses to divide products into blocks, so that it divides them in the same way on all
/// machines.
void fix_blocking() {
  static const bool done = (Eigen::setCpuCacheSizes(32768, 524288, 4194304), true);
  static_cast<void>(done);
}

template <class T>
void product(int m, int n, int k, const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t c_step, bool add) {
  fix_blocking();
  Eigen::Map<Rows<T>, 0, Eigen::OuterStride<>> out(c, m, n, Eigen::OuterStride<>(c_step));
  const View<T> left(a.data, a.transposed ? k : m, a.transposed ? m : k, Eigen::OuterStride<>(a.step));
  const View<T> right(b.data, b.transposed ? n : k, b.transposed ? k : n, Eigen::OuterStride<>(b.step));
  const auto put = [&](const auto& product) {
    if (add)
      out.noalias() += product;
    else
      out.noalias() = product;
  };
  if (a.transposed && b.transposed)
    put(left.transpose() * right.transpose());
  else if (a.transposed)
    put(left.transpose() * right);
  else if (b.transposed)
    put(left * right.transpose());
  else
    put(left * right);
}

}  // namespace

void multiply(int m, int n, int k, const Matrix<float>& a, const Matrix<float>& b, float* c, std::int64_t c_step,
              bool add) {
  product(m, n, k, a, b, c, c_step, add);
}

void multiply(int m, int n, int k, const Matrix<double>& a, const Matrix<double>& b, double* c, std::int64_t c_step,
              bool add) {
  product(m, n, k, a, b, c, c_step, add);
}

std::string_view blas_name() {
  return "eigen";
}

}  // namespace ferry::cpu
