// OpenBLAS with its own threads, as a peer. (ferry's kernels call OpenBLAS with one thread.)
#pragma once

#include <functional>

namespace ferry::bench {

/// A function that computes a product of two n x n matrices in float32 `times` times with `threads` threads of OpenBLAS
/// and returns the seconds of one product (openblas.cpp). Empty if ferry was built without OpenBLAS (no_openblas.cpp).
[[nodiscard]] std::function<double()> product_by_openblas(int n, int threads, int times);

}  // namespace ferry::bench
