// Tile regions of devices, for which one kernel is generated each.
#pragma once

#include "kernels/kernel.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// What the kernel of a region stands for. Its inputs and outputs are those of `tiles`, in their order. Error(plan) if
/// generated code cannot take the place of one of `kernels`.
[[nodiscard]] FusedKernels fused_kernels(const Plan& plan, const PlanClass& role, const Instruction& tiles,
                                         const KernelTable& kernels);

}  // namespace ferry
