#include "kernels/sim/folds.hpp"

#include <cstring>
#include <vector>

#include "kernels/shared/folds.hpp"

namespace ferry::sim {
namespace {

template <Reduce reduce>
void fold_inputs(KernelRun& run) {
  const Array& out = run.outputs[0];
  const auto bytes = static_cast<std::size_t>(out.count()) * size_of(out.dtype);
  if (bytes == 0) return;
  std::vector<std::byte> folded(run.inputs[0].data, run.inputs[0].data + bytes);  // the output may be a later input
  for (const Array& next : run.inputs.subspan(1))
    cpu_kernels().fold()(reduce, out.dtype, folded.data(), folded.data(), next.data, out.count());
  std::memcpy(out.data, folded.data(), bytes);
}

template <Reduce reduce>
Kernel kernel() {
  return {.op = fold_kernel(reduce), .run = fold_inputs<reduce>, .prepare = require_foldable, .takes = kAnyType};
}

}  // namespace

std::span<const Kernel> fold_kernels() {
  static const Kernel kKernels[] = {kernel<Reduce::sum>(), kernel<Reduce::max>(), kernel<Reduce::min>()};
  return kKernels;
}

}  // namespace ferry::sim
