#include <cblas.h>

#include <string>

#include "kernels/cpu/blas.hpp"

namespace ferry::cpu {
namespace {

/// One thread for each call: the kernel splits the work itself.
void be_single_threaded() {
  static const bool done = (openblas_set_num_threads(1), true);
  static_cast<void>(done);
}

constexpr CBLAS_TRANSPOSE mode(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

void multiply(int m, int n, int k, const Matrix<float>& a, const Matrix<float>& b, float* c, std::int64_t c_step,
              bool add) {
  be_single_threaded();
  cblas_sgemm(CblasRowMajor, mode(a.transposed), mode(b.transposed), m, n, k, 1.0F, a.data, static_cast<int>(a.step),
              b.data, static_cast<int>(b.step), add ? 1.0F : 0.0F, c, static_cast<int>(c_step));
}

void multiply(int m, int n, int k, const Matrix<double>& a, const Matrix<double>& b, double* c, std::int64_t c_step,
              bool add) {
  be_single_threaded();
  cblas_dgemm(CblasRowMajor, mode(a.transposed), mode(b.transposed), m, n, k, 1.0, a.data, static_cast<int>(a.step),
              b.data, static_cast<int>(b.step), add ? 1.0 : 0.0, c, static_cast<int>(c_step));
}

std::string_view blas_name() {
  static const std::string name = std::string("openblas-") + openblas_get_corename();
  return name;
}

}  // namespace ferry::cpu
