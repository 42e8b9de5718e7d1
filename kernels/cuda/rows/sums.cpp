// Sums and products along dims.
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/rows/fold.hpp"

namespace ferry::cuda {
namespace {

template <class Join>
void sums(KernelRun& run) {
  dispatch_all_numbers(run.inputs[0].dtype, [&](auto zero) { join_numbers<Join, decltype(zero)>(run); });
}

constexpr Kernel kSumsKernels[] = {
    {.op = "Sum",
     .run = sums<functors::Add>,
     .prepare = prepare_stages<reduced_axes>,
     .scratch_bytes = stages_scratch<reduced_axes>,
     .takes = kComputed | kHalves},
    {.op = "SumLike",
     .run = sums<functors::Add>,
     .prepare = prepare_stages<spread_dims>,
     .scratch_bytes = stages_scratch<spread_dims>,
     .takes = kComputed | kHalves},
    {.op = "Prod",
     .run = sums<functors::Mul>,
     .prepare = prepare_stages<reduced_axes>,
     .scratch_bytes = stages_scratch<reduced_axes>,
     .takes = kComputed | kHalves},
};

}  // namespace

std::span<const Kernel> sum_kernels() {
  return kSumsKernels;
}

}  // namespace ferry::cuda
