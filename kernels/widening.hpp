// Widening: how a kernel sees an instruction with dtypes that it does not take, and the scratch that it needs for that.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/traits.hpp"

namespace ferry {

/// The dtype to which bind() widens arrays of `dtype` for a kernel that does not take it (Kernel::takes).
[[nodiscard]] constexpr DType computed_as(DType dtype) {
  if (is_float(dtype)) return dtype == DType::float64 ? dtype : DType::float32;
  if (dtype == DType::boolean || size_of(dtype) < 4) return DType::int32;
  return dtype == DType::int32 ? dtype : DType::int64;
}

/// The most inputs of a kernel that is run by blocks.
inline constexpr std::size_t kMostWidened = 3;
inline constexpr std::int64_t kWidenedAlign = 64;

/// Whether the kernel takes all inputs and outputs without widening.
[[nodiscard]] bool takes_all(const Kernel& kernel, const KernelSetup& setup);
/// Whether the bound kernel, where it must widen, does so block by block, each small enough for the first-level cache,
/// so that it needs no scratch.
[[nodiscard]] bool by_blocks(const Kernel& kernel, const KernelSetup& setup);

/// An instruction with widened dtypes, as the kernel sees it, and where the widened arrays lie in the scratch.
struct Wider {
  static constexpr std::int64_t kAsItIs = -1;

  Wider(const Kernel& kernel, const KernelSetup& setup);
  [[nodiscard]] KernelSetup of(const KernelSetup& setup) const;

  std::vector<Type> inputs, outputs;
  std::vector<std::int64_t> places;  ///< of inputs, then of outputs; kAsItIs: not in the scratch
  std::int64_t bytes = 0;            ///< of all widened arrays; the kernel's own scratch comes after them

 private:
  Type add(const Kernel& kernel, const Type& type);
};

}  // namespace ferry
