#include <string>

#include "kernels/cpu/blas.hpp"
#include "kernels/cpu/kernels.hpp"

namespace ferry {

const KernelTable& cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable made(DeviceKind::cpu, "x86-64 " + std::string(cpu::blas_name()));
    for (const auto family :
         {cpu::unary_kernels(), cpu::binary_kernels(), cpu::cast_kernels(), cpu::matmul_kernels(),
          cpu::reduce_kernels(), cpu::softmax_kernels(), cpu::array_kernels(), cpu::indexing_kernels(),
          cpu::random_kernels(), cpu::batch_kernels(), cpu::file_kernels(), cpu::host_kernels(), cpu::parts_kernels()})
      made.add(family);
    return made;
  }();
  return table;
}

}  // namespace ferry
