// The kernels of CUDA devices on the host, for tests.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda_on_host.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry::test {

/// The kernels of CUDA devices, and the CPU's for ops that have none there.
[[nodiscard]] inline const KernelTable& cuda_kernels() {
  static const KernelTable all = [] {
    const KernelTable& cpu = cpu_kernels();
    KernelTable table(DeviceKind::gpu, "cuda", "", cpu.fold());
    static const std::shared_ptr<const KernelTable> cuda = cuda::kernels_on_host(cpu);
    for (const Kernel* kernel : cuda->all()) table.add({kernel, 1});
    for (const Kernel* kernel : cpu.all())
      if (cuda->find(kernel->op) == nullptr) table.add({kernel, 1});
    return table;
  }();
  return all;
}

/// The values as these kernels compute them, with threads in that order.
[[nodiscard]] inline std::vector<Tensor> run_on_cuda(const std::vector<Value>& values, cuda::Order order,
                                                     const Evaluator::Feeds& feeds = {}) {
  cuda::run_threads(order);
  EvaluateOptions options;
  options.kernels = &cuda_kernels();
  std::vector<Tensor> results = Evaluator(values[0].graph(), options).run(values, feeds);
  cuda::run_threads(cuda::Order::forward);
  return results;
}

}  // namespace ferry::test
