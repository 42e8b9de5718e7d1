// Products of few rows and a large matrix. The matrix is read once, in place.
#pragma once

#include "kernels/cpu/product/blas.hpp"
#include "kernels/cpu/product/panels.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// Whether products of these sizes are faster here than by a library, which packs the matrix first.
[[nodiscard]] bool has_few_rows(const ProductSizes& sizes, bool a_transposed, bool b_transposed);

/// c = a b, all contiguous; c is output 0 of `run`. The bits of a row do not depend on other rows or on threads.
template <class T>
void multiply_few_rows(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c);

}  // namespace ferry::cpu
