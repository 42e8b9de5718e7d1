// Elements of one dtype as elements of another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/types/dtype.hpp"

namespace ferry::cpu {

/// The dtype in which a kernel computes that does not take `dtype` itself (Kernel::takes; bind() widens and narrows).
[[nodiscard]] constexpr DType computed_as(DType dtype) {
  if (is_float(dtype)) return dtype == DType::float64 ? dtype : DType::float32;
  if (dtype == DType::boolean || size_of(dtype) < 4) return DType::int32;
  return dtype == DType::int32 ? dtype : DType::int64;
}

/// to[i] = from[i], converted as the op Cast does (functors.hpp), for `count` elements; the two do not overlap.
void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count);

}  // namespace ferry::cpu
