#include "kernels/widening.hpp"

#include <algorithm>

namespace ferry {

bool takes_all(const Kernel& kernel, const KernelSetup& setup) {
  const auto takes = [&](const Type& type) { return kernel.takes.has(type.dtype); };
  return std::all_of(setup.inputs.begin(), setup.inputs.end(), takes) &&
         std::all_of(setup.outputs.begin(), setup.outputs.end(), takes);
}

bool by_blocks(const Kernel& kernel, const KernelSetup& setup) {
  return kernel.elementwise && setup.inputs.size() <= kMostWidened;
}

WidenedSetup::WidenedSetup(const Kernel& kernel, const KernelSetup& setup) {
  for (const Type& type : setup.inputs) inputs.push_back(add(kernel, type));
  for (const Type& type : setup.outputs) outputs.push_back(add(kernel, type));
}

KernelSetup WidenedSetup::of(const KernelSetup& setup) const {
  KernelSetup wider = setup;
  wider.inputs = inputs;
  wider.outputs = outputs;
  return wider;
}

Type WidenedSetup::add(const Kernel& kernel, const Type& type) {
  Type wide{kernel.takes.has(type.dtype) ? type.dtype : computed_as(type.dtype), type.shape};
  const bool same = size_of(wide.dtype) == size_of(type.dtype);
  places.push_back(same ? kNotWidened : bytes);
  if (!same) bytes += (wide.bytes() + kWidenedAlign - 1) / kWidenedAlign * kWidenedAlign;
  return wide;
}

std::int64_t scratch_of(const Kernel& kernel, const KernelSetup& setup) {
  const auto own = [&](const KernelSetup& given) {
    return kernel.scratch_bytes != nullptr ? kernel.scratch_bytes(given) : 0;
  };
  if (takes_all(kernel, setup)) return own(setup);
  if (by_blocks(kernel, setup)) return 0;
  const WidenedSetup wider(kernel, setup);
  return wider.bytes + own(wider.of(setup));
}

bool is_scalar(const Kernel& kernel, const KernelSetup& setup) {
  const auto can = [&](const Type& input) { return kernel.scalar.of.has(input.dtype); };
  return !kernel.scalar.function.empty() && takes_all(kernel, setup) && std::ranges::all_of(setup.inputs, can);
}

std::int64_t row_of(const Kernel& kernel, const KernelSetup& setup) {
  if (kernel.row == nullptr || !takes_all(kernel, setup) || scratch_of(kernel, setup) > 0) return 0;
  return kernel.row(setup);
}

}  // namespace ferry
