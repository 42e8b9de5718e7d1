// Elements that are moved and not looked at: several that lie side by side can be moved as one.
#pragma once

#include "kernels/cuda/elements/elements.hpp"

namespace ferry::cuda {

/// Calls f with an element of so many bytes, 1 to kGroupBytes.
template <class F>
void dispatch_bytes(std::size_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(Group<std::uint64_t, 2>{});
  }
}

}  // namespace ferry::cuda
