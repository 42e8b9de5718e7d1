// Splits the work of one kernel over threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// The number of elements that a thread takes at once in loops with little work for each element. It is small enough
/// for the cache, and large enough to be worth another thread.
inline constexpr std::int64_t kElementGrain = 16384;

/// Calls parallel.for_each() without an allocation: std::function gets a reference to `body`, not a copy. If there is
/// only one chunk, `body` runs at once on this thread.
template <class F>
void for_chunks(Parallel& parallel, std::int64_t n, std::int64_t grain, const F& body) {
  if (n <= 0) return;
  if (n <= grain) return body(std::int64_t{0}, n);
  parallel.for_each(n, grain, std::cref(body));
}

/// The grain for a loop in which each iteration processes `work` elements.
[[nodiscard]] constexpr std::int64_t grain_of(std::int64_t work) {
  return work >= kElementGrain ? 1 : kElementGrain / (work > 0 ? work : 1);
}

/// The most items that are computed at the same time, each with its own scratch.
inline constexpr std::int64_t kScratchLanes = 8;

/// Calls body(item, scratch) for each of `items` items. The items are divided into lanes. Lanes may run at the same
/// time, and each lane has `lane_elements` elements of `scratch`.
template <class T, class Body>
void in_lanes(const KernelRun& run, std::int64_t items, T* scratch, std::int64_t lane_elements, const Body& body) {
  const std::int64_t lanes = std::min(items, kScratchLanes);
  for_chunks(run.parallel, lanes, 1, [&](std::int64_t lane, std::int64_t) {
    for (std::int64_t item = items * lane / lanes; item < items * (lane + 1) / lanes; ++item)
      body(item, scratch + lane * lane_elements);
  });
}

}  // namespace ferry::cpu
