// The working memory of CUDA's libraries, in the scratch of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

inline constexpr std::int64_t kWorkspaceAlign = 256;  ///< required by the libraries; scratch has a smaller alignment

/// The bytes of scratch that have room for an aligned workspace of `bytes` bytes.
[[nodiscard]] constexpr std::int64_t scratch_for_workspace(std::int64_t bytes) {
  return bytes + kWorkspaceAlign;
}

/// The workspace in the scratch. Precondition: the scratch has scratch_for_workspace() bytes.
[[nodiscard]] inline std::span<std::byte> workspace_in(const KernelRun& run, std::int64_t bytes) {
  void* memory = run.scratch.data();
  std::size_t room = run.scratch.size();
  const auto size = static_cast<std::size_t>(bytes);
  FERRY_ASSERT(std::align(kWorkspaceAlign, size, memory, room) != nullptr, "a kernel has too little scratch");
  return {static_cast<std::byte*>(memory), size};
}

}  // namespace ferry::cuda
