// The CPU's kernels, by family. The kernels in level.cpp are built for each instruction set, the others only once.
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace ferry::cpu {

[[nodiscard]] std::span<const Kernel> unary_kernels();   ///< exp, neg, relu, …
[[nodiscard]] std::span<const Kernel> trig_kernels();    ///< sin, atanh, …
[[nodiscard]] std::span<const Kernel> binary_kernels();  ///< add, compare, select, …
[[nodiscard]] std::span<const Kernel> cast_kernels();
[[nodiscard]] std::span<const Kernel> matmul_kernels();
[[nodiscard]] std::span<const Kernel> conv_kernels();         ///< convolution and its gradients
[[nodiscard]] std::span<const Kernel> pool_kernels();         ///< max and mean of windows
[[nodiscard]] std::span<const Kernel> reduce_kernels();       ///< sum, max, min, argmax
[[nodiscard]] std::span<const Kernel> softmax_kernels();      ///< softmax, cross-entropy
[[nodiscard]] std::span<const Kernel> cell_kernels();         ///< steps of recurrent layers
[[nodiscard]] std::span<const Kernel> array_kernels();        ///< transpose, slice, concat, constant, …
[[nodiscard]] std::span<const Kernel> indexing_kernels();     ///< gather, one-hot, nonzero
[[nodiscard]] std::span<const Kernel> cumulative_kernels();   ///< running sums and products
[[nodiscard]] std::span<const Kernel> arrange_kernels();      ///< flip, triangle, …
[[nodiscard]] std::span<const Kernel> scatter_kernels();      ///< elements and blocks at positions
[[nodiscard]] std::span<const Kernel> sort_kernels();         ///< top-k, unique
[[nodiscard]] std::span<const Kernel> box_kernels();          ///< non-maximum suppression
[[nodiscard]] std::span<const Kernel> region_kernels();       ///< regions of images, sampled
[[nodiscard]] std::span<const Kernel> determinant_kernels();  ///< determinants, cofactors
[[nodiscard]] std::span<const Kernel> random_kernels();
[[nodiscard]] std::span<const Kernel> parts_kernels();   ///< parts of split values (ops/control/comm.hpp)
[[nodiscard]] std::span<const Kernel> window_kernels();  ///< halos of split values (ops/control/comm.hpp)

/// The CPU's function of type FoldElements (kernel.hpp).
void fold_elements(Reduce reduce, DType dtype, std::byte* output, const std::byte* left, const std::byte* right,
                   std::int64_t count);

/// The CPU's function of type ComputeChain (kernel.hpp).
void compute_chain(DType dtype, std::span<const ChainStep> steps, const std::byte* const* operands, std::byte* out,
                   std::int64_t n);

[[nodiscard]] std::span<const Kernel> batch_kernels();  ///< batch, print
[[nodiscard]] std::span<const Kernel> file_kernels();   ///< IDX, npy, CSV
[[nodiscard]] std::span<const Kernel> matmul_integer_kernels(int level);
[[nodiscard]] std::span<const Kernel> conv_integer_kernels(int level);  ///< the loops compiled for the level
[[nodiscard]] std::span<const Kernel> host_kernels();                   ///< the host's name

}  // namespace ferry::cpu
