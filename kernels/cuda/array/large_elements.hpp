// Moves several consecutive elements as one element of a larger type. A kernel can do this if it does not compute with
// the elements.
#pragma once

#include "kernels/cuda/elements/elements.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {

/// Calls f with a zero of an element type of the given size, 1 to kGroupBytes bytes.
template <class F>
void dispatch_joined(std::size_t bytes, const F& f) {
  if (bytes == kGroupBytes) return f(Group<std::uint64_t, 2>{});
  dispatch_bytes(bytes, f);
}

}  // namespace ferry::cuda
