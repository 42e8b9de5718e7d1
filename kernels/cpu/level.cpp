#include "kernels/cpu/level.hpp"

#include "kernels/cpu/kernels.hpp"

namespace ferry::cpu {
namespace {

LevelKernels all() {
  static const std::span<const Kernel> families[] = {
      unary_kernels(),   binary_kernels(), cast_kernels(),    matmul_kernels(),      conv_kernels(),
      pool_kernels(),    reduce_kernels(), softmax_kernels(), array_kernels(),       indexing_kernels(),
      random_kernels(),  parts_kernels(),  trig_kernels(),    cumulative_kernels(),  arrange_kernels(),
      scatter_kernels(), sort_kernels(),   box_kernels(),     determinant_kernels(), region_kernels(),
      window_kernels(),  cell_kernels()};
  return {families, fold_elements, compute_chain};
}

}  // namespace
}  // namespace ferry::cpu

const ferry::cpu::LevelKernels* FERRY_KERNELS_OF_LEVEL() {
  static const ferry::cpu::LevelKernels kernels = ferry::cpu::all();
  return &kernels;
}
