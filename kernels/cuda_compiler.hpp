// What compiles generated kernels for CUDA devices: NVRTC, which needs no GPU, so that tests can look at its code.
#pragma once

#include <string>

namespace ferry::cuda {

/// Why there is no compiler; empty: there is one.
[[nodiscard]] std::string why_no_compiler();

struct CompiledRegion {
  std::string code;          ///< for the device
  std::string intermediate;  ///< PTX
  std::string log;           ///< what the compiler says, also of the registers and memory of a thread
};
/// `architecture` is the device's compute capability, 90 for 9.0. Thread-safe. Error(bug), with what the compiler says,
/// for a text that is wrong.
[[nodiscard]] CompiledRegion compile_region(const std::string& text, int architecture);

}  // namespace ferry::cuda
