#include "executor/capabilities.hpp"

#include "kernels/kernel.hpp"

namespace ferry {
namespace {

const Kernel* kernel_for(std::string_view op, DeviceKind kind) {
  return kind == DeviceKind::cpu ? cpu_kernels().find(op) : nullptr;
}

}  // namespace

bool KernelCapabilities::has_kernel(std::string_view op, DeviceKind kind) const {
  return kernel_for(op, kind) != nullptr;
}

std::uint32_t KernelCapabilities::in_place(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = kernel_for(op, kind);
  return kernel == nullptr ? 0 : kernel->in_place;
}

bool KernelCapabilities::has_scratch(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = kernel_for(op, kind);
  return kernel != nullptr && kernel->scratch_bytes != nullptr;
}

std::int64_t KernelCapabilities::scratch_bytes(const OpDef& def, DeviceKind kind, const Attrs& attrs,
                                               std::span<const Type> inputs, std::span<const Type> outputs) const {
  const Kernel* kernel = kernel_for(def.name, kind);
  if (kernel == nullptr || kernel->scratch_bytes == nullptr) return 0;
  return kernel->scratch_bytes({.name = {}, .attrs = attrs, .inputs = inputs, .outputs = outputs, .data_folder = {}});
}

}  // namespace ferry
