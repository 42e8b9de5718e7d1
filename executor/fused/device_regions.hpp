// Tile regions on devices: ferry generates one kernel for each region.
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
/// The operands of `tiles`, in order. For an epilogue: the inputs of all kernels after the first, then the output of
/// the first kernel, which is both an input and the output.
[[nodiscard]] RegionOperands region_operands(const PlanClass& role, const Instruction& tiles);

/// The kernels that the generated kernel of a region replaces: all kernels of the region, or for an epilogue all except
/// the first. Its inputs and outputs are region_operands(). Error(plan) if generated code cannot replace one of
/// `kernels`.
[[nodiscard]] FusedKernels fused_kernels(const Plan& plan, const PlanClass& role, const Instruction& tiles,
                                         const KernelTable& kernels);

}  // namespace ferry
