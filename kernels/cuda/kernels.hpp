// The kernels of CUDA devices, by family.
#pragma once

#include <memory>
#include <span>

#include "kernels/kernel.hpp"

namespace ferry::cuda {

[[nodiscard]] std::span<const Kernel> unary_kernels();   ///< exp, neg, relu, …
[[nodiscard]] std::span<const Kernel> trig_kernels();    ///< sin, atanh, …
[[nodiscard]] std::span<const Kernel> binary_kernels();  ///< add, compare, select, …
[[nodiscard]] std::span<const Kernel> cast_kernels();
[[nodiscard]] std::span<const Kernel> matmul_kernels();
[[nodiscard]] std::span<const Kernel> matmul_integer_kernels();
[[nodiscard]] std::span<const Kernel> conv_kernels();
[[nodiscard]] std::span<const Kernel> conv_filter_kernels();
[[nodiscard]] std::span<const Kernel> conv_integer_kernels();

/// All of them. `cpu` gives what the table says besides its kernels.
[[nodiscard]] std::shared_ptr<const KernelTable> kernel_table(const KernelTable& cpu);

}  // namespace ferry::cuda
