// How a reduction over any dims of an array goes: in passes over adjacent dims.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/functors.hpp"
#include "kernels/traits.hpp"

namespace ferry {

/// What a reduction begins with, and gives where there is nothing to reduce.
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

/// A reduction over any dims as passes over adjacent ones, innermost first.
[[nodiscard]] std::vector<Pass> passes_of(std::span<const std::int64_t> sizes, const std::vector<bool>& reduced);

/// Input 0 along the attribute "axis".
[[nodiscard]] Pass pass_along_axis(const KernelSetup& setup);

// Which dims of input 0 an instruction reduces.
/// The dims in the attribute "axes".
[[nodiscard]] std::vector<bool> reduced_axes(const KernelSetup& setup);
/// SumLike: the dims that the second input (and the output) lacks, or has with size 1.
[[nodiscard]] std::vector<bool> spread_dims(const KernelSetup& setup);

}  // namespace ferry
