#include "executor/job/capabilities.hpp"

namespace ferry {

const Kernel* KernelCapabilities::find(std::string_view op, DeviceKind kind) const {
  return kind == DeviceKind::cpu ? kernels_.find(op) : nullptr;
}

bool KernelCapabilities::has_kernel(std::string_view op, DeviceKind kind) const {
  return find(op, kind) != nullptr;
}

std::uint32_t KernelCapabilities::in_place(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel == nullptr ? 0 : kernel->in_place;
}

bool KernelCapabilities::elementwise(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel != nullptr && kernel->elementwise;
}

bool KernelCapabilities::finishes(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel != nullptr && kernel->finishes;
}

bool KernelCapabilities::streams(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel != nullptr && kernel->streams;
}

bool KernelCapabilities::works_by_rows(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel != nullptr && kernel->row != nullptr;
}

std::int64_t KernelCapabilities::row(std::string_view op, DeviceKind kind, const Attrs& attrs,
                                     std::span<const Type> inputs, std::span<const Type> outputs) const {
  const Kernel* kernel = find(op, kind);
  if (kernel == nullptr) return 0;
  return row_of(*kernel, {.name = {}, .attrs = attrs, .inputs = inputs, .outputs = outputs, .data_folder = {}});
}

bool KernelCapabilities::has_scratch(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel != nullptr && kernel->scratch_bytes != nullptr;
}

DTypeSet KernelCapabilities::takes(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel == nullptr ? kAnyType : kernel->takes;
}

bool KernelCapabilities::packs(std::string_view op, DeviceKind kind) const {
  const Kernel* kernel = find(op, kind);
  return kernel != nullptr && kernel->packing.elements != nullptr;
}

PackedInput KernelCapabilities::packed_input(std::string_view op, DeviceKind kind, const Attrs& attrs,
                                             std::span<const Type> inputs, std::span<const Type> outputs) const {
  if (!packs(op, kind)) return {};
  const Packing& packing = find(op, kind)->packing;
  return {packing.input, packing.op,
          packing.elements({.name = {}, .attrs = attrs, .inputs = inputs, .outputs = outputs, .data_folder = {}})};
}

std::int64_t KernelCapabilities::scratch_bytes(const OpDef& def, DeviceKind kind, const Attrs& attrs,
                                               std::span<const Type> inputs, std::span<const Type> outputs) const {
  const Kernel* kernel = find(def.name, kind);
  if (kernel == nullptr) return 0;
  return scratch_of(*kernel, {.name = {}, .attrs = attrs, .inputs = inputs, .outputs = outputs, .data_folder = {}});
}

}  // namespace ferry
