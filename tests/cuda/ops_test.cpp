// The kernels of CUDA devices, compiled for the host: every case of an op that has one gives what the reference gives,
// and the same bits in every order of the threads.
#include <doctest/doctest.h>

#include "kernels/cuda_on_host.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry::test {
namespace {

using cuda::Order;

constexpr std::int64_t kMostElements = 2'000;

/// The kernels of CUDA devices, and the CPU's for ops that have none there.
const KernelTable& kernels() {
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

std::vector<Tensor> outputs_of(const CaseGraph& made, const std::vector<Tensor>& inputs, Order order) {
  cuda::run_threads(order);
  EvaluateOptions options;
  options.kernels = &kernels();
  const std::vector<Tensor> outputs = Evaluator(made.graph, options).run(made.y, feeds_of(inputs));
  cuda::run_threads(Order::forward);
  return outputs;
}

}  // namespace

TEST_CASE("kernels for CUDA give what the reference gives, in any order of threads") {
  for (const Case& which : op_cases())
    for (const DType dtype : kDTypes) {
      if (!dtypes_of(which).has(dtype)) continue;
      for (std::size_t shape = 0; shape < which.shapes.size(); ++shape) {
        const std::vector<Tensor> inputs = inputs_for(which, shape, dtype);
        if (elements_of(inputs) > kMostElements) continue;
        CAPTURE(which.op);
        CAPTURE(name_of(dtype));
        CAPTURE(shape);
        const CaseGraph made(which, inputs);
        const std::vector<Nd> wanted = which.reference({inputs.begin(), inputs.end()});
        const std::vector<Tensor> forward = outputs_of(made, inputs, Order::forward);
        REQUIRE(forward.size() == wanted.size());
        for (std::size_t i = 0; i < forward.size(); ++i) CHECK(difference(forward[i], wanted[i]) == "");
        for (const Order order : {Order::backward, Order::shuffled}) {
          const std::vector<Tensor> other = outputs_of(made, inputs, order);
          for (std::size_t i = 0; i < forward.size(); ++i) CHECK(forward[i].same_bits(other[i]));
        }
      }
    }
}

}  // namespace ferry::test
