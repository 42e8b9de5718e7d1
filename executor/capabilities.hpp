// What the kernels of this build can do, for the planner.
#pragma once

#include "placement/capabilities.hpp"

namespace ferry {

/// Answers from the kernel tables (kernels/kernel.hpp). Stateless and thread-safe.
class KernelCapabilities final : public Capabilities {
 public:
  [[nodiscard]] bool has_kernel(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] std::uint32_t in_place(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] bool has_scratch(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] std::int64_t scratch_bytes(const OpDef& def, DeviceKind kind, const Attrs& attrs,
                                           std::span<const Type> inputs, std::span<const Type> outputs) const override;
};

}  // namespace ferry
