// What computes convolutions as the library has planned them. dnn_library.cpp calls the library, if there is one;
// dnn_on_host.cpp stands for it in tests.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/cuda_dnn.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// Puts the convolution on the queue. `workspace` has as many bytes as choose_plan() was told, and is aligned to 256.
/// The array that is the result is written, the others are read.
void convolve(const KernelRun& run, const DnnPlan& plan, std::byte* image, std::byte* filter, std::byte* output,
              std::span<std::byte> workspace);

}  // namespace ferry::cuda
