// OpenBLAS with threads of its own, to be measured against; ferry itself calls it with one.
#pragma once

#include <functional>

namespace ferry::bench {

/// Computes a product of two n x n matrices in float32 `times` times by `threads` threads of OpenBLAS and gives the
/// seconds of one (openblas.cpp); an empty function where ferry was built without OpenBLAS (no_openblas.cpp).
[[nodiscard]] std::function<double()> product_by_openblas(int n, int threads, int times);

}  // namespace ferry::bench
