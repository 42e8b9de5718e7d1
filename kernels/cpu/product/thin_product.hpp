// Products of matrices of which one is small: it is packed into panels once, and the large one is read where it lies,
// row by row, once.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/blas.hpp"
#include "kernels/cpu/product/panels.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// Whether products of these sizes are computed here faster than by a library.
[[nodiscard]] bool is_thin(const ProductSizes& sizes, bool a_transposed, bool b_transposed);

/// Bytes, for elements of `element` bytes.
[[nodiscard]] std::int64_t thin_scratch(const ProductSizes& sizes, bool b_transposed, std::int64_t element);

/// c = a b, all without gaps; c is output 0 of `run`, which has the scratch. How it is cut into threads and blocks
/// changes no bit.
template <class T>
void multiply_thin(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c);

}  // namespace ferry::cpu
