// Compiles and launches generated kernels. On GPUs, NVRTC compiles them and the CUDA runtime launches them (nvrtc.cpp,
// code_cuda.cpp). In tests on the host, the C++ compiler compiles them (compiler_on_host.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/cuda_compiler.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// The compiler's version and options, which determine the code together with the text.
[[nodiscard]] std::string compiler_facts(int architecture);

/// Code that a device can run.
class RegionCode {
 public:
  virtual ~RegionCode() = default;
  /// Submits the kernel to the run's queue, for `groups` groups of elements. `arguments` are the words of the text's
  /// Arguments (loop.hpp).
  virtual void launch(const KernelRun& run, std::int64_t groups, std::span<const std::int64_t> arguments) const = 0;
};
/// Error(resource) for code that cannot be loaded.
[[nodiscard]] std::shared_ptr<const RegionCode> load_region(const std::string& code);

}  // namespace ferry::cuda
