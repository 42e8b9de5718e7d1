// The kernels by which simulated devices fold what the members of their groups give (kernels/device.hpp).
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace ferry::sim {

[[nodiscard]] std::span<const Kernel> fold_kernels();

}  // namespace ferry::sim
