#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {

std::shared_ptr<const KernelTable> kernel_table(const KernelTable& cpu) {
  auto table = std::make_shared<KernelTable>(DeviceKind::gpu, "cuda", "", cpu.fold());
  for (const auto& family :
       {unary_kernels(), trig_kernels(), binary_kernels(), cast_kernels(), gather_kernels(), one_hot_kernels(),
        pool_kernels(), random_kernels(), scatter_kernels(), scatter_add_kernels()})
    table->add(family);
  return table;
}

}  // namespace ferry::cuda
