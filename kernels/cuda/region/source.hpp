// The sources of generated kernels: one kernel for the elementwise kernels of a tile region.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// What a kernel's text leaves to its arguments, so that regions that differ in sizes share it.
struct RegionSource {
  std::string text;           ///< C++ and CUDA; includes region/loop.hpp
  std::int64_t elements = 0;  ///< of each output
  int group = 1;              ///< elements that a thread reads and writes at once
  std::vector<std::size_t>
      aligned;                      ///< of inputs, then of outputs: bytes to which one must be aligned for that; 1: any
  std::vector<std::int64_t> walks;  ///< the numbers in Arguments behind the first two
};

/// What all texts use: bytes for arguments that a kernel can have.
inline constexpr std::size_t kArgumentBytes = 32764;

[[nodiscard]] RegionSource source_of(const FusedKernels& kernels);

}  // namespace ferry::cuda
