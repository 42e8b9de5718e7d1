// The working memory of CUDA's libraries, in the scratch of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cuda {

inline constexpr std::int64_t kWorkspaceAlign = 256;  ///< which libraries ask; scratch is aligned less

/// Scratch for a workspace of the given number of bytes.
[[nodiscard]] constexpr std::int64_t scratch_for_workspace(std::int64_t bytes) {
  return bytes + kWorkspaceAlign;
}

/// The workspace in the scratch, which has room for it.
[[nodiscard]] inline std::span<std::byte> workspace_in(const KernelRun& run, std::int64_t bytes) {
  void* memory = run.scratch.data();
  std::size_t room = run.scratch.size();
  const auto size = static_cast<std::size_t>(bytes);
  FERRY_ASSERT(std::align(kWorkspaceAlign, size, memory, room) != nullptr, "a kernel has too little scratch");
  return {static_cast<std::byte*>(memory), size};
}

}  // namespace ferry::cuda
