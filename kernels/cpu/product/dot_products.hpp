// The innermost loop of products of a row and a transposed matrix: dot products with the matrix's rows. It is built
// once for each instruction set; kernels of all levels use the best loop for the processor.
#pragma once

#include <cstdint>

namespace ferry::cpu {

/// A dot product has as many partial sums as elements fit into this many bytes, on any processor.
inline constexpr int kDotBytes = 64;

/// c[v] = sum over i < k of a[i] * b[v * k + i] for v < n. Let S be the number of elements in kDotBytes; k >= S. Term i
/// is added to sum i modulo S. The remaining terms, fewer than S, are added to the last sums. Then the two halves of
/// the sums are added, and so on, until one sum is left. The bits of c[v] do not depend on n.
template <class T>
using DotProducts = void (*)(std::int64_t k, std::int64_t n, const T* a, const T* b, T* c);

struct DotProductSet {
  DotProducts<float> of_float;
  DotProducts<double> of_double;
};

/// The set of functions for this processor.
[[nodiscard]] const DotProductSet& dot_products();

template <class T>
[[nodiscard]] DotProducts<T> dot_products_of();
template <>
[[nodiscard]] inline DotProducts<float> dot_products_of<float>() {
  return dot_products().of_float;
}
template <>
[[nodiscard]] inline DotProducts<double> dot_products_of<double>() {
  return dot_products().of_double;
}

extern const DotProductSet ferry_dot_products_baseline, ferry_dot_products_v3, ferry_dot_products_v4;

}  // namespace ferry::cpu
