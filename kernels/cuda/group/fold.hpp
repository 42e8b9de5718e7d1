// The kernels with which CUDA devices fold the contributions of a group's members (kernels/device.hpp).
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace ferry::cuda {

[[nodiscard]] std::span<const Kernel> fold_kernels();

}  // namespace ferry::cuda
