// Runs the plans of cuDNN for convolutions. dnn_library.cpp calls cuDNN if it is installed; dnn_on_host.cpp replaces it
// in tests.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/cuda_dnn.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// Submits the convolution to the queue. `workspace` has the `workspace_bytes` of choose_plan(), and is aligned to 256
/// bytes. Writes the array that is the plan's result, and reads the two others.
void convolve(const KernelRun& run, const DnnPlan& plan, std::byte* image, std::byte* filter, std::byte* output,
              std::span<std::byte> workspace);

}  // namespace ferry::cuda
