// Tile regions of devices, for which one kernel is generated each.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The buffers that the kernel generated for a region reads and writes.
struct RegionOperands {
  std::vector<std::uint32_t> inputs, outputs;
};
/// The members of `tiles`, in order. For an epilogue: those that the kernels behind the first one read, then what the
/// first one makes; and that again.
[[nodiscard]] RegionOperands region_operands(const PlanClass& role, const Instruction& tiles);

/// What the kernel generated for a region stands for: all of its kernels, or for an epilogue those behind the first
/// one. Its inputs and outputs are region_operands(). Error(plan) if generated code cannot take the place of one of
/// `kernels`.
[[nodiscard]] FusedKernels fused_kernels(const Plan& plan, const PlanClass& role, const Instruction& tiles,
                                         const KernelTable& kernels);

}  // namespace ferry
