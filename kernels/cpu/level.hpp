// The kernels of one instruction set. kernels/meson.build compiles the kernels once for each instruction set; all
// copies give the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.hpp"

namespace ferry::cpu {

struct LevelKernels {
  std::span<const std::span<const Kernel>> families;
  FoldElements fold = nullptr;
  ComputeChain chain = nullptr;
};

}  // namespace ferry::cpu

// One function for each level that this build has. They are the only symbols that its objects show (isolate.py), so
// that the linker never takes another level's copy of an inline function.
extern "C" {
const ferry::cpu::LevelKernels* ferry_kernels_baseline();
const ferry::cpu::LevelKernels* ferry_kernels_v3();
const ferry::cpu::LevelKernels* ferry_kernels_v4();
}
