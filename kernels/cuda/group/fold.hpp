// The kernels by which CUDA devices fold what the members of their groups give (kernels/device.hpp).
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace ferry::cuda {

[[nodiscard]] std::span<const Kernel> fold_kernels();

}  // namespace ferry::cuda
