// Compiles generated kernels for CUDA devices by NVRTC. NVRTC needs no GPU, so tests can check its code.
#pragma once

#include <string>

namespace ferry::cuda {

/// The reason why NVRTC cannot be used; empty: it can.
[[nodiscard]] std::string why_no_compiler();

struct CompiledRegion {
  std::string code;          ///< for the device
  std::string intermediate;  ///< PTX
  std::string log;           ///< the compiler's messages, with the registers and memory of a thread
};
/// Compiles the source `text`. `architecture` is the device's compute capability, 90 for 9.0. Thread-safe. Error(bug),
/// with the compiler's messages, if the text does not compile.
[[nodiscard]] CompiledRegion compile_region(const std::string& text, int architecture);

}  // namespace ferry::cuda
