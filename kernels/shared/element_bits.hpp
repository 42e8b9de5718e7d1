// ElementBits: the bits of one element of any dtype. Kernels that move elements fill arrays with it.
#pragma once

#include <cstdint>
#include <cstring>

#include "graph/types/dtype.hpp"
#include "kernels/functors.hpp"

namespace ferry {

/// The element's bytes come first, then zeros.
using ElementBits = std::uint64_t;

/// Converts a number to an element of `dtype`, as the op Cast does.
template <class From>
[[nodiscard]] ElementBits bits_of(DType dtype, From number) {
  ElementBits bits = 0;
  dispatch(dtype, [&](auto zero) {
    const auto element = functors::Cast<decltype(zero)>()(number);
    std::memcpy(&bits, &element, sizeof element);
  });
  return bits;
}

}  // namespace ferry
