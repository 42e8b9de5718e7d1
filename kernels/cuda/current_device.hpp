// The device that CUDA works with in this thread.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/error.hpp"

namespace ferry::cuda {

/// Its number. Error(resource) with what CUDA says.
[[nodiscard]] inline int current_device() {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) throw Error(Code::resource, std::string("cudaGetDevice gives ") + cudaGetErrorName(error));
  return device;
}

}  // namespace ferry::cuda
