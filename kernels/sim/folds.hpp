// The fold kernels of simulated devices. They reduce the inputs of a group's members (kernels/device.hpp).
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace ferry::sim {

[[nodiscard]] std::span<const Kernel> fold_kernels();

}  // namespace ferry::sim
