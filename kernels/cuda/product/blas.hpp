// The library of matrix products of CUDA, cuBLASLt, behind functions of ferry's own. blas_lt.cpp calls the library, if
// there is one; blas_on_host.cpp stands for it in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "graph/types/dtype.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// A matrix as the library has it: column by column, each `step` elements after the one before. `rows` and `columns`
/// are the sizes in memory, before transposing. The matrices of a batch begin `next` elements apart; 0: all products
/// use the same matrix.
struct BlasMatrix {
  std::int64_t rows = 0, columns = 0, step = 0, next = 0;
  bool transposed = false;
};

/// c = a b, `count` times. Sums of 16-bit floats are float32.
struct BlasProduct {
  DType dtype = DType::float32;  ///< a float
  std::int64_t count = 1;
  BlasMatrix a, b, c;
};

/// The addend of each element of c. It is added to the finished sum in the dtype of sums, before the element is stored.
struct BlasAddend {
  enum class Has : std::uint8_t { nothing, one_a_row, all };  ///< one element for each row of c; all that c has
  Has has = Has::nothing;
  std::span<const std::byte> from = {};  ///< of c's dtype, one after another, where c has its columns without gaps
};

/// Why there is no library of matrix products; empty: there is one.
[[nodiscard]] std::string why_no_blas();

/// The library's algorithm for a product on a device.
class BlasAlgorithm {
 public:
  virtual ~BlasAlgorithm() = default;
};

/// An algorithm for the current device and for arrays that are aligned to `alignment` bytes, a power of 2. Null if the
/// library has none. Takes some time.
[[nodiscard]] std::unique_ptr<BlasAlgorithm> choose_algorithm(const BlasProduct& product, std::uint32_t alignment,
                                                              std::size_t workspace_bytes);

/// Whether the algorithm, which sums as it does without, can add that. An addend with `all` elements is aligned like
/// the arrays.
[[nodiscard]] bool can_add(BlasAlgorithm& algorithm, const BlasAddend& addend);

/// Puts the product on the queue. `workspace` has as many bytes as choose_algorithm() was told, and is aligned
/// to 256. Of `addend` can_add() has said true.
void multiply(const KernelRun& run, BlasAlgorithm& algorithm, const std::byte* a, const std::byte* b, std::byte* c,
              const BlasAddend& addend, std::span<std::byte> workspace);

}  // namespace ferry::cuda
