// The CPU's kernels of data that move bytes alone: built once, beside those of kernels.hpp.
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace ferry::cpu {

[[nodiscard]] std::span<const Kernel> stream_kernels();   ///< batches out of files
[[nodiscard]] std::span<const Kernel> augment_kernels();  ///< random flips and crops

}  // namespace ferry::cpu
