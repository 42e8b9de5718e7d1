// The dtypes of elementwise kernels on GPUs: all dtypes of the CPU's kernels, and 16-bit floats, which are widened in
// registers.
#pragma once

#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {

inline constexpr DTypeSet kHalves{DType::float16, DType::bfloat16};
inline constexpr DTypeSet kAllNumbers = kComputed | kHalves;  ///< the dtypes of dispatch_all_numbers()

template <class F>
void dispatch_all_floats(DType dtype, const F& f) {
  dispatch_among<float, double, Float16, BFloat16>(dtype, f);
}
template <class F>
void dispatch_all_numbers(DType dtype, const F& f) {
  dispatch_among<float, double, Float16, BFloat16, std::int32_t, std::int64_t>(dtype, f);
}
template <class F>
void dispatch_all_ordered(DType dtype, const F& f) {
  dispatch_among<float, double, Float16, BFloat16, std::int32_t, std::int64_t, std::uint64_t>(dtype, f);
}

}  // namespace ferry::cuda
