// One element of any dtype, which kernels that move elements fill arrays with.
#pragma once

#include <cstdint>
#include <cstring>

#include "graph/types/dtype.hpp"
#include "kernels/functors.hpp"

namespace ferry {

/// Its bytes come first, then zeros.
using ElementBits = std::uint64_t;

/// A number as an element, converted as the op Cast does.
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
