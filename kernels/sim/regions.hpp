// Tile regions on simulated devices.
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.hpp"

namespace ferry::sim {

/// Kernels for tile regions, one for each of `all`. Each runs the kernels of its region one after another, and has
/// memory for the region's inner values.
[[nodiscard]] std::vector<BoundKernel> one_by_one(std::span<const FusedKernels> all);

}  // namespace ferry::sim
