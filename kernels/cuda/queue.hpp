// The type of KernelRun::queue for kernels of GPUs.
#pragma once

#include <cstdint>

#include "kernels/cuda/report.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

struct Queue {
  void* stream = nullptr;  ///< cudaStream_t
  BadReport report;        ///< for the kernel that is being launched
};

/// Throws an Error if a launch has returned an error of the runtime, and not 0.
void require_launched(int error);

/// Like runtime::copy(), for host memory that may have some locked pages. Returns 0 or an error of the runtime.
[[nodiscard]] int copy_in_pieces(void* stream, void* to, const void* from, std::uint64_t bytes);

}  // namespace ferry::cuda
