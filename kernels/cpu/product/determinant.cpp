#include <cmath>

#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// The determinant of an n by n matrix, by elimination with the largest pivot of each column. Overwrites the matrix.
template <class T>
T determinant(T* matrix, std::int64_t n) {
  T result = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t r = k + 1; r < n; ++r)
      if (std::abs(matrix[r * n + k]) > std::abs(matrix[pivot * n + k])) pivot = r;
    if (matrix[pivot * n + k] == T(0)) return 0;
    if (pivot != k) {
      std::swap_ranges(matrix + k * n + k, matrix + (k + 1) * n, matrix + pivot * n + k);
      result = -result;
    }
    result *= matrix[k * n + k];
    for (std::int64_t r = k + 1; r < n; ++r) {
      const T factor = matrix[r * n + k] / matrix[k * n + k];
      for (std::int64_t c = k + 1; c < n; ++c) matrix[r * n + c] -= factor * matrix[k * n + c];
    }
  }
  return result;
}

/// Writes the matrix without row i and column j to `minor`.
template <class T>
void take_minor(const T* matrix, std::int64_t n, std::int64_t i, std::int64_t j, T* minor) {
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t c = 0; c < n; ++c)
      if (r != i && c != j) *minor++ = matrix[r * n + c];
}

/// Calls f(matrix, scratch for a matrix, n, number of the matrix) for each of the [n,n] matrices.
template <class F>
void for_matrices(KernelRun& run, const F& f) {
  const Array& input = run.inputs[0];
  const std::int64_t n = input.sizes.back();
  const std::int64_t count = product(input.sizes, 0, input.rank() - 2);
  if (input.rank() > 2) run.outputs[0].sizes[0] = input.sizes[0];
  dispatch_floats(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, count, grain_of(n * n * n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at)
        f(input.as<const T>() + at * n * n, reinterpret_cast<T*>(run.scratch.data()) + at * n * n, n, at);
    });
  });
}

void det(KernelRun& run) {
  for_matrices(run, [&](const auto* matrix, auto* room, std::int64_t n, std::int64_t at) {
    using T = std::remove_pointer_t<decltype(room)>;
    std::copy_n(matrix, n * n, room);
    run.outputs[0].as<T>()[at] = determinant(room, n);
  });
}

void cofactors(KernelRun& run) {
  for_matrices(run, [&](const auto* matrix, auto* room, std::int64_t n, std::int64_t at) {
    using T = std::remove_pointer_t<decltype(room)>;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        take_minor(matrix, n, i, j, room);
        const T minor = determinant(room, n - 1);
        run.outputs[0].as<T>()[(at * n + i) * n + j] = (i + j) % 2 == 0 ? minor : -minor;
      }
  });
}

std::int64_t scratch_bytes(const KernelSetup& setup) {
  return setup.inputs[0].bytes();
}

constexpr Kernel kKernels[] = {
    {.op = "Det", .run = det, .scratch_bytes = scratch_bytes},
    {.op = "Cofactors", .run = cofactors, .scratch_bytes = scratch_bytes},
};

}  // namespace

std::span<const Kernel> determinant_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
