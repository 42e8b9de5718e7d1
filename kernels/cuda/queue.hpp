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

/// Throws Error for what the runtime gave for a launch, unless that is 0.
void require_launched(int error);

/// runtime::copy() where host memory may be locked in part. Returns 0 or an error of the runtime.
[[nodiscard]] int copy_in_pieces(void* stream, void* to, const void* from, std::uint64_t bytes);

}  // namespace ferry::cuda
