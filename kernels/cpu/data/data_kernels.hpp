// The CPU's kernels for data. They only move bytes, so they are built once, not for each instruction set. Other
// kernels: kernels.hpp.
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace ferry::cpu {

[[nodiscard]] std::span<const Kernel> stream_kernels();   ///< batches from files
[[nodiscard]] std::span<const Kernel> augment_kernels();  ///< random flips and crops
[[nodiscard]] std::span<const Kernel> image_kernels();    ///< folders of images

}  // namespace ferry::cpu
