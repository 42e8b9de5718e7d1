// What the kernels of this build can do, for the planner.
#pragma once

#include "kernels/kernel.hpp"
#include "placement/capabilities.hpp"

namespace ferry {

/// Answers from a table of the CPU's kernels, which must outlive it. Thread-safe.
class KernelCapabilities final : public Capabilities {
 public:
  explicit KernelCapabilities(const KernelTable& kernels = cpu_kernels()) : kernels_(kernels) {}
  [[nodiscard]] bool has_kernel(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] std::uint32_t in_place(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] bool elementwise(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] bool finishes(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] bool streams(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] bool works_by_rows(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] std::int64_t row(std::string_view op, DeviceKind kind, const Attrs& attrs, std::span<const Type> inputs,
                                 std::span<const Type> outputs) const override;
  [[nodiscard]] bool has_scratch(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] DTypeSet takes(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] bool packs(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] PackedInput packed_input(std::string_view op, DeviceKind kind, const Attrs& attrs,
                                         std::span<const Type> inputs, std::span<const Type> outputs) const override;
  [[nodiscard]] std::int64_t scratch_bytes(const OpDef& def, DeviceKind kind, const Attrs& attrs,
                                           std::span<const Type> inputs, std::span<const Type> outputs) const override;

 private:
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind kind) const;

  const KernelTable& kernels_;
};

}  // namespace ferry
