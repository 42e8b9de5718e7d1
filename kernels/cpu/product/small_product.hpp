// Products with a small transposed matrix, such as the weights of a dense layer. One panel of the matrix is packed at a
// time, on the stack; the other factor is read in place.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/blas.hpp"
#include "kernels/cpu/product/panels.hpp"

namespace ferry::cpu {

/// Whether products of these sizes are faster here than by a library.
[[nodiscard]] bool is_small(const ProductSizes& sizes, bool b_transposed);

/// c = a b for a transposed b. c is [m,n] with `c_step` elements from row to row. Computes on the calling thread only.
/// The bits of an element depend on its row of a and its column of b only.
template <class T>
void multiply_small(const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t c_step);

}  // namespace ferry::cpu
