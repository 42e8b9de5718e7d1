// Numbers in texts as elements of tensors.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/numbers.hpp"
#include "graph/types/dtype.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Parses the whole text as an element of the dtype, and stores its size_of(dtype) bytes at `element` when there is no
/// fault. Integers keep all their bits. A number too small for a float is a subnormal one or 0; one that rounds to an
/// infinity is out of range.
[[nodiscard]] NumberFault parse_element(std::string_view text, DType dtype, std::byte* element);

}  // namespace ferry
#pragma GCC visibility pop
