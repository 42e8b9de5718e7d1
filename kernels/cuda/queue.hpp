// What the kernels of GPUs find in KernelRun::queue.
#pragma once

#include <cstdint>

#include "kernels/cuda/report.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

struct Queue {
  void* stream = nullptr;  ///< cudaStream_t
  BadReport report;        ///< of the kernel that is being launched
};

/// Throws Error for what cudaGetLastError() gave after a launch, unless that is 0.
void require_launched(int error);

}  // namespace ferry::cuda
