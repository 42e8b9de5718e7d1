// Products of two large matrices: blocks of both are packed, so that tiles read them from the caches.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/blas.hpp"
#include "kernels/cpu/product/panels.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// Whether products of these sizes are faster here than by a library.
[[nodiscard]] bool is_large(const ProductSizes& sizes);

/// Bytes of scratch that multiply_large() needs, for elements of `element` bytes.
[[nodiscard]] std::int64_t large_scratch(const ProductSizes& sizes, std::int64_t element);

/// c = a b, all contiguous; c is output 0 of `run`, which has the scratch. The bits do not depend on the division of
/// the work into blocks and threads.
template <class T>
void multiply_large(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c);

}  // namespace ferry::cpu
