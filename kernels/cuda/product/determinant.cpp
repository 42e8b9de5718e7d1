#include <cmath>
#include <limits>

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {
namespace {

/// The most blocks that work at the same time. Each block has scratch for one matrix.
constexpr std::int64_t kLanes = 1024;

struct Largest {
  template <class T>
  FERRY_DEVICE T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Least {
  template <class T>
  FERRY_DEVICE T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

/// Determinants of matrices with n rows, or their cofactors (determinants without one row and one column, with signs).
/// The method is elimination with the largest pivot of each column, as on the CPU. Each block handles every kLanes-th
/// result.
template <class T, bool cofactors>
struct Determinants {
  struct Shared {
    T sizes[kMostWarps];
    std::int64_t rows[kMostWarps];
  };

  FERRY_DEVICE void operator()(std::int64_t lane, const Block& block, Shared& shared) const {
    const std::int64_t size = cofactors ? n - 1 : n;
    T* const matrix = room + lane * size * size;
    for (std::int64_t item = lane; item < count; item += kLanes) {
      const std::int64_t i = cofactors ? item / n % n : n, j = cofactors ? item % n : n;  // left out
      const T* const from = in + (cofactors ? item / n / n : item) * n * n;
      for (std::int64_t k = block.thread(); k < size * size; k += block.threads()) {
        const std::int64_t r = k / size, c = k % size;
        matrix[k] = from[(r < i ? r : r + 1) * n + (c < j ? c : c + 1)];
      }
      block.sync();
      const T result = determinant(matrix, size, block, shared);
      if (block.thread() == 0) out[item] = (i + j) % 2 == 0 ? result : -result;
    }
  }

  const T* in;
  T* out;
  T* room;
  std::int64_t n, count;

 private:
  /// The row, from row k on, that has the largest element of column k by absolute value; of equal elements, the first.
  /// A NaN counts as +inf in row k, and as smaller than all numbers in other rows. Sets `most` to the absolute value.
  FERRY_DEVICE static std::int64_t pivot_of(const T* matrix, std::int64_t size, std::int64_t k, T& most,
                                            const Block& block, Shared& shared) {
    const auto size_in = [=](std::int64_t r) {
      const T element = std::abs(matrix[r * size + k]);
      return element >= T(0) ? element : r == k ? std::numeric_limits<T>::infinity() : T(-1);
    };
    T mine = T(-1);
    for (std::int64_t r = k + block.thread(); r < size; r += block.threads()) mine = Largest()(mine, size_in(r));
    most = join_in_block(block, mine, shared.sizes, Largest());
    std::int64_t row = size;
    for (std::int64_t r = k + block.thread(); r < size && row == size; r += block.threads())
      if (size_in(r) == most) row = r;
    return join_in_block(block, row, shared.rows, Least());
  }

  FERRY_DEVICE static T determinant(T* matrix, std::int64_t size, const Block& block, Shared& shared) {
    const int warp = block.thread() / kWarp, warps = block.threads() / kWarp, lane = block.thread() % kWarp;
    T result = 1;
    for (std::int64_t k = 0; k < size; ++k) {
      T most = 0;
      const std::int64_t pivot = pivot_of(matrix, size, k, most, block, shared);
      if (most == T(0)) return 0;
      if (pivot != k) {
        for (std::int64_t c = k + block.thread(); c < size; c += block.threads()) {
          const T above = matrix[k * size + c];
          matrix[k * size + c] = matrix[pivot * size + c];
          matrix[pivot * size + c] = above;
        }
        result = -result;
      }
      block.sync();
      result *= matrix[k * size + k];
      for (std::int64_t r = k + 1 + warp; r < size; r += warps) {
        const T factor = matrix[r * size + k] / matrix[k * size + k];
        for (std::int64_t c = k + 1 + lane; c < size; c += kWarp) matrix[r * size + c] -= factor * matrix[k * size + c];
      }
      block.sync();
    }
    return result;
  }
};

template <bool cofactors>
void determinants(KernelRun& run) {
  const Array &input = run.inputs[0], &output = run.outputs[0];
  dispatch_floats(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = output.count();
    for_each_block(run, std::min(count, kLanes),
                   Determinants<T, cofactors>{input.as<const T>(), output.as<T>(),
                                              reinterpret_cast<T*>(run.scratch.data()), input.sizes.back(), count});
  });
}

std::int64_t determinant_scratch(const KernelSetup& setup) {
  const Type& input = setup.inputs[0];
  const std::int64_t n = input.shape[input.shape.rank() - 1].size();
  return std::min(setup.outputs[0].shape.count(), kLanes) * n * n * static_cast<std::int64_t>(size_of(input.dtype));
}

constexpr Kernel kDeterminantKernels[] = {
    {.op = "Det", .run = determinants<false>, .scratch_bytes = determinant_scratch},
    {.op = "Cofactors", .run = determinants<true>, .scratch_bytes = determinant_scratch},
};

}  // namespace

std::span<const Kernel> determinant_kernels() {
  return kDeterminantKernels;
}

}  // namespace ferry::cuda
