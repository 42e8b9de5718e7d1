// Products of matrices with one small dim, m or k. One factor is packed into panels (a large factor a part at a time),
// and the other factor is read in place.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/blas.hpp"
#include "kernels/cpu/product/panels.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// Whether products of these sizes are faster here than by a library.
[[nodiscard]] bool is_thin(const ProductSizes& sizes, bool a_transposed, bool b_transposed);

/// Bytes of scratch that multiply_thin() needs, for elements of `element` bytes.
[[nodiscard]] std::int64_t thin_scratch(const ProductSizes& sizes, bool a_transposed, bool b_transposed,
                                        std::int64_t element);

/// c = a b, all contiguous; c is output 0 of `run`, which has the scratch. The bits do not depend on the division of
/// the work into blocks and threads.
template <class T>
void multiply_thin(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c);

}  // namespace ferry::cpu
