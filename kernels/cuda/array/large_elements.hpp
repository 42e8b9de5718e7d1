// Elements that are moved and not looked at: several that lie side by side can be moved as one.
#pragma once

#include "kernels/cuda/elements/elements.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {

/// Calls f with an element type of the given size, 1 to kGroupBytes bytes.
template <class F>
void dispatch_joined(std::size_t bytes, const F& f) {
  if (bytes == kGroupBytes) return f(Group<std::uint64_t, 2>{});
  dispatch_bytes(bytes, f);
}

}  // namespace ferry::cuda
