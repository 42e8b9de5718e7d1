// Passes: a reduction over any dims of an array is done in passes over adjacent dims.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/functors.hpp"
#include "kernels/traits.hpp"

namespace ferry {

/// The start value of a reduction, which is also the result for no elements.
template <class T, class Join>
constexpr T start_of() {
  using Limits = std::numeric_limits<T>;
  if (std::is_same_v<Join, functors::Maximum>) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (std::is_same_v<Join, functors::Minimum>) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return std::is_same_v<Join, functors::Mul> ? T(1) : T(0);
}

/// A reduction of the middle dim of [outer, along, inner].
struct Pass {
  std::int64_t outer = 1, along = 1, inner = 1;
  [[nodiscard]] std::int64_t results() const { return outer * inner; }
};

/// Splits a reduction over any dims into passes over adjacent dims, innermost first.
[[nodiscard]] std::vector<Pass> passes_of(std::span<const std::int64_t> sizes, const std::vector<bool>& reduced);

/// The pass for a reduction of input 0 along the attribute "axis".
[[nodiscard]] Pass pass_along_axis(const KernelSetup& setup);

// The next two functions return the dims of input 0 that an instruction reduces.
/// The dims in the attribute "axes".
[[nodiscard]] std::vector<bool> reduced_axes(const KernelSetup& setup);
/// The dims that SumLike reduces: the second input (and the output) lacks them, or has size 1 there.
[[nodiscard]] std::vector<bool> spread_dims(const KernelSetup& setup);

}  // namespace ferry
