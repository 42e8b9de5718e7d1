// The sources of generated kernels: one kernel for the elementwise kernels of a tile region.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// The text of a generated kernel, and the numbers that it gets as arguments. The text has no sizes, so that regions
/// that differ only in sizes share it.
struct RegionSource {
  std::string text;           ///< C++ and CUDA; includes region/loop.hpp
  std::int64_t elements = 0;  ///< of each output
  int group = 1;              ///< elements that a thread reads and writes at once
  /// For the inputs, then for the outputs: the alignment in bytes that allows a thread to access a group at once. 1:
  /// any.
  std::vector<std::size_t> aligned;
  std::vector<std::int64_t> walks;  ///< the numbers of Arguments after the first two
};

/// CUDA's limit for the bytes of a kernel's arguments.
inline constexpr std::size_t kArgumentBytes = 32764;

[[nodiscard]] RegionSource source_of(const FusedKernels& kernels);

}  // namespace ferry::cuda
