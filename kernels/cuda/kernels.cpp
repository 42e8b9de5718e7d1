#include "kernels/cuda/kernels.hpp"

#include "kernels/cuda/group/fold.hpp"

namespace ferry::cuda {

std::shared_ptr<const KernelTable> kernel_table(const KernelTable& cpu) {
  auto table = std::make_shared<KernelTable>(DeviceKind::gpu, "cuda", "", cpu.fold());
  for (const auto& family : {unary_kernels(),       trig_kernels(),         binary_kernels(),         cast_kernels(),
                             sum_kernels(),         extreme_kernels(),      best_index_kernels(),     softmax_kernels(),
                             cumulative_kernels(),  top_k_kernels(),        moving_kernels(),         arrange_kernels(),
                             add_up_kernels(),      gather_kernels(),       one_hot_kernels(),        pool_kernels(),
                             random_kernels(),      scatter_kernels(),      scatter_add_kernels(),    region_kernels(),
                             determinant_kernels(), matmul_kernels(),       matmul_integer_kernels(), conv_kernels(),
                             conv_filter_kernels(), conv_integer_kernels(), check_range_kernels()})
    table->add(family);
  table->add(cell_kernels());
  table->add(fold_kernels());
  return table;
}

}  // namespace ferry::cuda
