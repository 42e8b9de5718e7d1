// Folds a run of numbers in an order that suits vector code: in kLanes lanes side by side, which are joined in pairs at
// the end. The order depends only on the number of elements, so every instruction set gives the same bits.
#pragma once

#include <cstdint>

namespace ferry::cpu {

inline constexpr std::int64_t kLanes = 16;

/// Joins get(0) … get(n - 1) by `join`, in `count` lanes. Each lane begins with `start`, which must not change the
/// result. If `join` has a long latency, more lanes are faster.
template <std::int64_t count = kLanes, class T, class Get, class Join>
[[nodiscard]] T fold_lanes(std::int64_t n, T start, const Get& get, const Join& join) {
  T lanes[count];
  for (T& lane : lanes) lane = start;
  std::int64_t i = 0;
  for (; i + count <= n; i += count) {
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) lanes[k] = join(lanes[k], get(i + k));
  }
  for (std::int64_t k = 0; i < n; ++i, ++k) lanes[k] = join(lanes[k], get(i));
  for (std::int64_t width = count / 2; width > 0; width /= 2)
    for (std::int64_t k = 0; k < width; ++k) lanes[k] = join(lanes[k], lanes[k + width]);
  return lanes[0];
}

}  // namespace ferry::cpu
