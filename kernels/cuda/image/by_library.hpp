// Convolutions and their gradients by cuDNN, if it is installed and can express them.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/image/dnn.hpp"
#include "kernels/shared/convolution.hpp"

namespace ferry::cuda {

/// The library's plan for a kernel. A kernel on a device keeps it, because its arrays have the same sizes in every
/// step.
struct ConvByLibrary {
  std::uint32_t alignment = 0;          ///< of the arrays for which the plan was chosen; 0: not chosen yet
  std::unique_ptr<const DnnPlan> plan;  ///< null: the library has none
};

/// The arrays of a convolution; one of them is its result.
struct ConvArrays {
  const Array& image;
  const Array& filter;
  const Array& output;
};

/// The scratch that has room for workspace_bytes() bytes at the library's alignment.
[[nodiscard]] std::int64_t library_scratch(const Convolution& conv, DnnResult result, DType dtype);

/// Submits the convolution to the queue if the library has a plan for it. Returns whether it has.
[[nodiscard]] bool convolve_by_library(const KernelRun& run, const Convolution& conv, DnnResult result,
                                       const ConvArrays& arrays, ConvByLibrary& kept);

}  // namespace ferry::cuda
