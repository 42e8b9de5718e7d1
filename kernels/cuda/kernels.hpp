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
[[nodiscard]] std::span<const Kernel> cell_kernels();     ///< steps of recurrent layers
[[nodiscard]] std::span<const Kernel> sum_kernels();      ///< sums and products along dims
[[nodiscard]] std::span<const Kernel> extreme_kernels();  ///< max and min along dims
[[nodiscard]] std::span<const Kernel> best_index_kernels();
[[nodiscard]] std::span<const Kernel> softmax_kernels();
[[nodiscard]] std::span<const Kernel> cumulative_kernels();
[[nodiscard]] std::span<const Kernel> top_k_kernels();
[[nodiscard]] std::span<const Kernel> moving_kernels();   ///< transpose, slice, window, …
[[nodiscard]] std::span<const Kernel> arrange_kernels();  ///< triangle, reverse_sequence
[[nodiscard]] std::span<const Kernel> add_up_kernels();
[[nodiscard]] std::span<const Kernel> region_kernels();  ///< roi_align
[[nodiscard]] std::span<const Kernel> determinant_kernels();

[[nodiscard]] std::span<const Kernel> check_range_kernels();
[[nodiscard]] std::span<const Kernel> gather_kernels();
[[nodiscard]] std::span<const Kernel> one_hot_kernels();
[[nodiscard]] std::span<const Kernel> pool_kernels();
[[nodiscard]] std::span<const Kernel> random_kernels();  ///< uniform, normal, shuffle
[[nodiscard]] std::span<const Kernel> scatter_kernels();
[[nodiscard]] std::span<const Kernel> scatter_add_kernels();
[[nodiscard]] std::span<const Kernel> matmul_kernels();
[[nodiscard]] std::span<const Kernel> matmul_integer_kernels();
[[nodiscard]] std::span<const Kernel> conv_kernels();
[[nodiscard]] std::span<const Kernel> conv_filter_kernels();
[[nodiscard]] std::span<const Kernel> conv_integer_kernels();

/// A table of all kernels above. It has the fold of `cpu`, the CPU's table (KernelTable::fold).
[[nodiscard]] std::shared_ptr<const KernelTable> kernel_table(const KernelTable& cpu);

}  // namespace ferry::cuda
