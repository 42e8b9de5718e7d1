// Elements of one dtype as elements of another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/types/dtype.hpp"

namespace ferry::cpu {

/// What elements are computed as by kernels that do not take them (kernel.hpp, bind).
[[nodiscard]] constexpr DType computed_as(DType dtype) {
  if (is_float(dtype)) return dtype == DType::float64 ? dtype : DType::float32;
  if (dtype == DType::boolean || size_of(dtype) < 4) return DType::int32;
  return dtype == DType::int32 ? dtype : DType::int64;
}

/// to[i] = from[i] as Cast gives it (functors.hpp), for `count` elements that lie apart.
void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count);

}  // namespace ferry::cpu
