// Tile regions on simulated devices.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.hpp"

namespace ferry::sim {

/// Kernels that run the kernels of a region one after another. They have memory of their own for the values inside the
/// region.
[[nodiscard]] std::vector<BoundKernel> one_by_one(std::span<const FusedKernels> all);

}  // namespace ferry::sim
