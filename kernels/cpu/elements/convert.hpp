// Elements of one dtype as elements of another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/types/dtype.hpp"

namespace ferry::cpu {

/// to[i] = from[i], converted as the op Cast does (functors.hpp), for `count` elements; the two do not overlap.
void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count);

}  // namespace ferry::cpu
