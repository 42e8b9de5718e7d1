// Calls code with the C++ type of a dtype that is known at run time. It is like dispatch() of graph/types/dtype.hpp,
// but only for the dtypes that a kernel takes, so that the compiler compiles loops for these dtypes only. bind() widens
// arrays of other dtypes before (Kernel::takes).
#pragma once

#include "base/error.hpp"
#include "graph/types/dtype.hpp"
#include "kernels/kernel.hpp"

namespace ferry {

/// Calls f with a zero of the C++ type of `dtype`, which must be one of Ts. The op's definition has checked this.
template <class... Ts, class F>
void dispatch_among(DType dtype, const F& f) {
  const bool found = ((dtype == dtype_of<Ts>() ? (f(Ts{}), true) : false) || ...);
  FERRY_ASSERT(found, "no kernel for dtype " + std::string(name_of(dtype)));
}

template <class F>
void dispatch_floats(DType dtype, const F& f) {
  dispatch_among<float, double>(dtype, f);
}
/// For ops that give the right bits for uint64 if they compute in int64: sums, products, bitwise ops.
template <class F>
void dispatch_numbers(DType dtype, const F& f) {
  dispatch_among<float, double, std::int32_t, std::int64_t>(dtype, f);
}
/// For ops that compare numbers: uint64 differs from int64 there. Their kernels have `.takes = kOrdered`.
inline constexpr DTypeSet kOrdered{DType::int32, DType::int64, DType::uint64, DType::float32, DType::float64};
template <class F>
void dispatch_ordered(DType dtype, const F& f) {
  dispatch_among<float, double, std::int32_t, std::int64_t, std::uint64_t>(dtype, f);
}
template <class F>
void dispatch_indices(DType dtype, const F& f) {
  dispatch_among<std::int32_t, std::int64_t>(dtype, f);
}
/// Calls f with a zero of the unsigned integer type of `bytes` bytes (1, 2, 4 or 8).
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
/// Calls f as dispatch_bytes() does, with the size of the dtype. For kernels that move elements without computing, and
/// take every dtype.
template <class F>
void dispatch_sizes(DType dtype, const F& f) {
  dispatch_bytes(size_of(dtype), f);
}

}  // namespace ferry
