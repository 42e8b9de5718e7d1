// Parses numbers in text as elements of tensors.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/numbers.hpp"
#include "graph/types/dtype.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Parses the whole text as an element of the dtype. If there is no fault, stores its size_of(dtype) bytes at
/// `element`. Integers keep all their bits. A number too small for a normal float becomes a subnormal number or 0. A
/// number that rounds to infinity is out of range.
[[nodiscard]] NumberFault parse_element(std::string_view text, DType dtype, std::byte* element);

}  // namespace ferry
#pragma GCC visibility pop
