// Splitting the work of one kernel.
#pragma once

#include <functional>

#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// The number of elements that a thread takes at once in loops that do little for each: small enough for the cache,
/// large enough to be worth handing to another thread.
inline constexpr std::int64_t kElementGrain = 16384;

/// parallel.for_each without an allocation: a reference to `body` goes into std::function, not a copy. `body` runs in
/// this thread at once when there is only one chunk.
template <class F>
void for_chunks(Parallel& parallel, std::int64_t n, std::int64_t grain, const F& body) {
  if (n <= 0) return;
  if (n <= grain) return body(std::int64_t{0}, n);
  parallel.for_each(n, grain, std::cref(body));
}

/// The grain for a loop whose iterations each process `work` elements.
[[nodiscard]] constexpr std::int64_t grain_of(std::int64_t work) {
  return work >= kElementGrain ? 1 : kElementGrain / (work > 0 ? work : 1);
}

}  // namespace ferry::cpu
