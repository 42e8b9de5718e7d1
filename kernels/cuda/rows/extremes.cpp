// The largest and the smallest elements along dims. They take every dtype: the initial value is the end of the dtype's
// range.
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/rows/fold.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {
namespace {

template <class Join>
void extremes(KernelRun& run) {
  dispatch_among<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                 std::uint16_t, std::uint32_t, std::uint64_t>(
      run.inputs[0].dtype, [&](auto zero) { join_numbers<Join, decltype(zero)>(run); });
}

constexpr Kernel kExtremesKernels[] = {
    {.op = "Max",
     .run = extremes<functors::Maximum>,
     .prepare = prepare_stages<reduced_axes>,
     .scratch_bytes = stages_scratch<reduced_axes>,
     .takes = kNumbers},
    {.op = "Min",
     .run = extremes<functors::Minimum>,
     .prepare = prepare_stages<reduced_axes>,
     .scratch_bytes = stages_scratch<reduced_axes>,
     .takes = kNumbers},
};

}  // namespace

std::span<const Kernel> extreme_kernels() {
  return kExtremesKernels;
}

}  // namespace ferry::cuda
