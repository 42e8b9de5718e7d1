// The device that CUDA works with in this thread.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/error.hpp"

namespace ferry::cuda {

/// The number of the current device. Error(resource) with CUDA's error if there is none.
[[nodiscard]] inline int current_device() {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) throw Error(Code::resource, std::string("cudaGetDevice gives ") + cudaGetErrorName(error));
  return device;
}

}  // namespace ferry::cuda
