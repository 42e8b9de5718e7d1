// AllKernels: kernels for planning where nothing is run.
#pragma once

#include "kernels/traits.hpp"

namespace ferry::bench {

/// The CPU has kernels for all ops, without workspace; they may work in place on their first two inputs.
class AllKernels final : public KernelLookup {
 public:
  [[nodiscard]] const Kernel* find(std::string_view, DeviceKind kind) const override {
    static constexpr Kernel kAny{.op = "any", .in_place = 3, .takes = kAnyType};
    return kind == DeviceKind::cpu ? &kAny : nullptr;
  }
};

}  // namespace ferry::bench
