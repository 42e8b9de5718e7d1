// Widening: how a kernel sees an instruction with dtypes that it does not take, and the scratch that it needs for that.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/traits.hpp"

namespace ferry {

/// The dtype in which a kernel computes that does not take `dtype` itself (Kernel::takes; bind() widens and narrows).
[[nodiscard]] constexpr DType computed_as(DType dtype) {
  if (is_float(dtype)) return dtype == DType::float64 ? dtype : DType::float32;
  if (dtype == DType::boolean || size_of(dtype) < 4) return DType::int32;
  return dtype == DType::int32 ? dtype : DType::int64;
}

/// Inputs of kernels that go over blocks, at most.
inline constexpr std::size_t kMostWidened = 3;
inline constexpr std::int64_t kWidenedAlign = 64;

/// The kernel takes all inputs and outputs as they are.
[[nodiscard]] bool takes_all(const Kernel& kernel, const KernelSetup& setup);
/// The bound kernel goes over blocks, small enough for the first cache, and widens each: it needs no scratch.
[[nodiscard]] bool by_blocks(const Kernel& kernel, const KernelSetup& setup);

/// An instruction as the kernel sees it, and where in the scratch the arrays lie that are widened.
struct Wider {
  static constexpr std::int64_t kAsItIs = -1;

  Wider(const Kernel& kernel, const KernelSetup& setup);
  [[nodiscard]] KernelSetup of(const KernelSetup& setup) const;

  std::vector<Type> inputs, outputs;
  std::vector<std::int64_t> places;  ///< of inputs, then of outputs; kAsItIs: not in the scratch
  std::int64_t bytes = 0;            ///< of all of them; behind is what the kernel itself needs

 private:
  Type add(const Kernel& kernel, const Type& type);
};

}  // namespace ferry
