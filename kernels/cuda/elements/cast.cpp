#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"

namespace ferry::cuda {
namespace {

/// Converts one element per thread, and not a group, so the two arrays may have any alignment.
template <class To, class From>
struct Convert {
  FERRY_DEVICE void operator()(std::int64_t i) const { to[i] = functors::Cast<To>()(load(from[i])); }
  To* to;
  const From* from;
};

void cast(KernelRun& run) {
  const Array &input = run.inputs[0], &output = run.outputs[0];
  dispatch(input.dtype, [&](auto from) {
    dispatch(output.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      for_each(run, output.count(), Convert<To, From>{output.as<To>(), input.as<const From>()});
    });
  });
}

constexpr Kernel kKernels[] = {{.op = "Cast", .run = cast, .takes = kAnyType, .scalar = {"ToOutput"}},
                               {.op = "Narrow", .run = cast, .takes = kAnyType, .scalar = {"ToOutput"}}};

}  // namespace

std::span<const Kernel> cast_kernels() {
  return kKernels;
}

}  // namespace ferry::cuda
