// Widening: the types and the scratch of a kernel for an instruction with dtypes that the kernel does not take.
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

/// The maximum number of inputs of a kernel that widens block by block.
inline constexpr std::size_t kMostWidened = 3;
inline constexpr std::int64_t kWidenedAlign = 64;

/// Whether the kernel takes the dtypes of all inputs and outputs without widening.
[[nodiscard]] bool takes_all(const Kernel& kernel, const KernelSetup& setup);
/// Whether the bound kernel widens block by block if it must widen. Each block fits into the first-level cache, so that
/// no scratch is needed.
[[nodiscard]] bool by_blocks(const Kernel& kernel, const KernelSetup& setup);

/// An instruction with widened dtypes, as the kernel sees it, and the positions of the widened arrays in the scratch.
struct WidenedSetup {
  static constexpr std::int64_t kNotWidened = -1;

  WidenedSetup(const Kernel& kernel, const KernelSetup& setup);
  [[nodiscard]] KernelSetup of(const KernelSetup& setup) const;

  std::vector<Type> inputs, outputs;
  std::vector<std::int64_t> places;  ///< positions (bytes) of inputs, then of outputs; kNotWidened: not in the scratch
  std::int64_t bytes = 0;            ///< size of all widened arrays; the kernel's own scratch comes after them

 private:
  Type add(const Kernel& kernel, const Type& type);
};

}  // namespace ferry
