// Kernels that stand for several: their texts are generated, compiled and cached.
#pragma once

#include <span>
#include <vector>

#include "kernels/cuda/region/cache.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// A kernel for each of them, for devices of that compute capability (90 for 9.0). What `cache` has not is compiled, by
/// up to `threads` threads.
[[nodiscard]] std::vector<BoundKernel> fused(std::span<const FusedKernels> all, int architecture, int threads,
                                             CodeCache& cache);

}  // namespace ferry::cuda
