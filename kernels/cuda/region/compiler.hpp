// What makes code of the texts of generated kernels and launches it, behind functions of ferry's own. NVRTC and the
// CUDA runtime do it on GPUs (nvrtc.cpp, code_cuda.cpp), the C++ compiler in tests on the host (compiler_on_host.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/cuda_compiler.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

/// All that decides a text's code besides the text: the compiler's version and options.
[[nodiscard]] std::string compiler_facts(int architecture);

/// Code that a device can run.
class RegionCode {
 public:
  virtual ~RegionCode() = default;
  /// Puts the kernel on the run's queue, for the given number of groups of elements. `arguments` are what the text
  /// calls Arguments.
  virtual void launch(const KernelRun& run, std::int64_t groups, std::span<const std::int64_t> arguments) const = 0;
};
/// Error(resource) for code that cannot be loaded.
[[nodiscard]] std::shared_ptr<const RegionCode> load_region(const std::string& code);

}  // namespace ferry::cuda
