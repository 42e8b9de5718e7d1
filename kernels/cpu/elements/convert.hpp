// Converts elements of one dtype to another dtype.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/types/dtype.hpp"

namespace ferry::cpu {

/// to[i] = from[i], converted as by the op Cast (functors.hpp), for `count` elements. `from` and `to` must not overlap.
void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count);

}  // namespace ferry::cpu
