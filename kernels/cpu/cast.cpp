#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/functors.hpp"

namespace ferry::cpu {
namespace {

void cast(KernelRun& run) {
  dispatch(run.inputs[0].dtype, [&](auto from) {
    dispatch(run.outputs[0].dtype,
             [&](auto to) { map_elements<decltype(to), decltype(from)>(run, functors::Cast<decltype(to)>()); });
  });
}

constexpr Kernel kKernels[] = {{.op = "Cast", .run = cast, .elementwise = true}};

}  // namespace

std::span<const Kernel> cast_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
