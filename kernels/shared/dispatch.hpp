// From a dtype at run time to a C++ type, like dispatch() of graph/types/dtype.hpp, but only for the dtypes that a
// kernel takes. The compiler then compiles loops for these dtypes only. Others are widened to these before
// (Kernel::takes).
#pragma once

#include "base/error.hpp"
#include "graph/types/dtype.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

/// Calls f with a zero of the type; dtype must be one of Ts, which the op's definition has checked.
template <class... Ts, class F>
void dispatch_among(DType dtype, const F& f) {
  const bool found = ((dtype == dtype_of<Ts>() ? (f(Ts{}), true) : false) || ...);
  FERRY_ASSERT(found, "no kernel for dtype " + std::string(name_of(dtype)));
}

template <class F>
void dispatch_floats(DType dtype, const F& f) {
  dispatch_among<float, double>(dtype, f);
}
/// For ops that give the right bits for uint64 when it is computed as int64: sums, products, bitwise ops.
template <class F>
void dispatch_numbers(DType dtype, const F& f) {
  dispatch_among<float, double, std::int32_t, std::int64_t>(dtype, f);
}
/// For ops that compare numbers, where uint64 differs from int64; the kernel has `.takes = kOrdered`.
inline constexpr DTypeSet kOrdered{DType::int32, DType::int64, DType::uint64, DType::float32, DType::float64};
template <class F>
void dispatch_ordered(DType dtype, const F& f) {
  dispatch_among<float, double, std::int32_t, std::int64_t, std::uint64_t>(dtype, f);
}
template <class F>
void dispatch_indices(DType dtype, const F& f) {
  dispatch_among<std::int32_t, std::int64_t>(dtype, f);
}
/// Gives f an unsigned integer of 1, 2, 4 or 8 bytes.
template <class F>
void dispatch_bytes(std::size_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}
/// The same, of the dtype's size: for kernels that move elements and do not compute with them, which take every dtype.
template <class F>
void dispatch_sizes(DType dtype, const F& f) {
  dispatch_bytes(size_of(dtype), f);
}

}  // namespace ferry
