// AllKernels: capabilities for planning where nothing is run.
#pragma once

#include "placement/capabilities.hpp"

namespace ferry::bench {

/// The CPU has kernels for all ops, without workspace; they may work in place on their first two inputs.
class AllKernels final : public Capabilities {
 public:
  [[nodiscard]] bool has_kernel(std::string_view, DeviceKind kind) const override { return kind == DeviceKind::cpu; }
  [[nodiscard]] std::uint32_t in_place(std::string_view, DeviceKind) const override { return 3; }
  [[nodiscard]] bool elementwise(std::string_view, DeviceKind) const override { return false; }
  [[nodiscard]] bool has_scratch(std::string_view, DeviceKind) const override { return false; }
  [[nodiscard]] DTypeSet takes(std::string_view, DeviceKind) const override { return kAnyType; }
  [[nodiscard]] std::int64_t scratch_bytes(const OpDef&, DeviceKind, const Attrs&, std::span<const Type>,
                                           std::span<const Type>) const override {
    return 0;
  }
};

}  // namespace ferry::bench
