// AllKernels: stands for a device's kernels where a graph is planned and never run.
#pragma once

#include "kernels/traits.hpp"

namespace ferry::bench {

/// Says that the CPU has a kernel for every op, without workspace, which may work in place on its first two inputs.
class AllKernels final : public KernelLookup {
 public:
  [[nodiscard]] const Kernel* find(std::string_view, DeviceKind kind) const override {
    static constexpr Kernel kAny{.op = "any", .in_place = 3, .takes = kAnyType};
    return kind == DeviceKind::cpu ? &kAny : nullptr;
  }
};

}  // namespace ferry::bench
