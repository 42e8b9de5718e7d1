// Tile regions on simulated devices.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.hpp"

namespace ferry::sim {

/// Kernels that run those of a region one after another, with memory of their own for the values between them.
[[nodiscard]] std::vector<BoundKernel> one_by_one(std::span<const FusedKernels> all);

}  // namespace ferry::sim
