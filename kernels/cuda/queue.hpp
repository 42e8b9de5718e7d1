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

/// Throws Error(resource) for what cudaGetLastError() gave after the launch, unless that is 0.
void require_launched(const KernelRun& run, int error);

}  // namespace ferry::cuda
