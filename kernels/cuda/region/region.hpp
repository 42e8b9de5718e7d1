// Generates, compiles and caches kernels that do the work of several kernels.
#pragma once

#include <span>
#include <vector>

#include "kernels/compile/code_cache.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// Returns a kernel for each of `all`, for devices of compute capability `architecture` (90 for 9.0). Kernels that
/// `cache` lacks are compiled, by up to `threads` threads.
[[nodiscard]] std::vector<BoundKernel> fused(std::span<const FusedKernels> all, int architecture, int threads,
                                             CodeCache& cache);

}  // namespace ferry::cuda
