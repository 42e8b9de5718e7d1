// Convolutions and their gradients by the library, if there is one and it can express them.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/image/dnn.hpp"
#include "kernels/shared/convolution.hpp"

namespace ferry::cuda {

/// What a kernel keeps of the library: on a device, its arrays have the same sizes in every step.
struct ConvByLibrary {
  std::uint32_t alignment = 0;  ///< that the plan was chosen for; 0: none was
  std::unique_ptr<const DnnPlan> plan;
};

/// The arrays of a convolution; one of them is its result.
struct ConvArrays {
  const Array& image;
  const Array& filter;
  const Array& output;
};

/// Scratch for workspace_bytes(); KernelRun::scratch is aligned less than the library asks.
[[nodiscard]] std::int64_t library_scratch(const Convolution& conv, DnnResult result, DType dtype);

/// Returns whether the library has a plan. If so, it is on the queue.
[[nodiscard]] bool convolve_by_library(const KernelRun& run, const Convolution& conv, DnnResult result,
                                       const ConvArrays& arrays, ConvByLibrary& kept);

}  // namespace ferry::cuda
