// The functions of cuBLASLt, CUDA's library of matrix products, that ferry uses. blas_lt.cpp calls cuBLASLt if it is
// installed; blas_on_host.cpp replaces it in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "graph/types/dtype.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// A matrix as the library needs it: in column-major order. Columns begin `step` elements apart. `rows` and `columns`
/// are the sizes in memory, before transposing. The matrices of a batch begin `next` elements apart; 0: all products
/// use the same matrix.
struct BlasMatrix {
  std::int64_t rows = 0, columns = 0, step = 0, next = 0;
  bool transposed = false;
};

/// A batch of `count` products c = a b. Sums of 16-bit floats are float32.
struct BlasProduct {
  DType dtype = DType::float32;  ///< a float
  std::int64_t count = 1;
  BlasMatrix a, b, c;
};

/// Values that the library adds to the elements of c. It adds them to the finished sums, in the dtype of sums, before
/// it stores the elements.
struct BlasAddend {
  enum class Has : std::uint8_t { nothing, one_a_row, all };  ///< one_a_row: a value for each row of c
  Has has = Has::nothing;
  std::span<const std::byte> from = {};  ///< contiguous elements of c's dtype; with `all`, c has no gaps either
};

/// The reason why cuBLASLt cannot be used; empty: it can.
[[nodiscard]] std::string why_no_blas();

/// The library's algorithm for a product on a device.
class BlasAlgorithm {
 public:
  virtual ~BlasAlgorithm() = default;
};

/// Chooses an algorithm for the current device, and for arrays that are aligned to `alignment` bytes, a power of 2.
/// Null if the library has none. The call takes some time.
[[nodiscard]] std::unique_ptr<BlasAlgorithm> choose_algorithm(const BlasProduct& product, std::uint32_t alignment,
                                                              std::size_t workspace_bytes);

/// Whether the algorithm can add `addend`, with the same order of sums as without it. An addend with `all` elements
/// must be aligned like the arrays.
[[nodiscard]] bool can_add(BlasAlgorithm& algorithm, const BlasAddend& addend);

/// Submits the product to the queue. `workspace` has the `workspace_bytes` of choose_algorithm(), and is aligned to 256
/// bytes. can_add() must have returned true for `addend`.
void multiply(const KernelRun& run, BlasAlgorithm& algorithm, const std::byte* a, const std::byte* b, std::byte* c,
              const BlasAddend& addend, std::span<std::byte> workspace);

}  // namespace ferry::cuda
