#include <algorithm>

#include "kernels/cpu/elements/convert.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/widening.hpp"

namespace ferry::cpu {
namespace {

template <class T, class F>
void fold(std::byte* output, const std::byte* left, const std::byte* right, std::int64_t count) {
  auto* out = reinterpret_cast<T*>(output);
  const auto* a = reinterpret_cast<const T*>(left);
  const auto* b = reinterpret_cast<const T*>(right);
  constexpr F kJoin{};
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = kJoin(a[i], b[i]);
}

/// fold_elements() for dtypes without a loop of their own: widens both operands, a block at a time.
void fold_widened(Reduce reduce, DType dtype, std::byte* output, const std::byte* left, const std::byte* right,
                  std::int64_t count) {
  constexpr std::int64_t kBlock = 512;
  alignas(std::int64_t) std::byte a[kBlock * 8], b[kBlock * 8];
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    convert_elements(dtype, left + begin * size, computed_as(dtype), a, n);
    convert_elements(dtype, right + begin * size, computed_as(dtype), b, n);
    fold_elements(reduce, computed_as(dtype), a, a, b, n);
    convert_elements(computed_as(dtype), a, dtype, output + begin * size, n);
  }
}

}  // namespace

void fold_elements(Reduce reduce, DType dtype, std::byte* output, const std::byte* left, const std::byte* right,
                   std::int64_t count) {
  if (!kOrdered.has(dtype)) return fold_widened(reduce, dtype, output, left, right, count);
  dispatch_ordered(dtype, [&](auto zero) {
    using T = decltype(zero);
    switch (reduce) {
      case Reduce::sum:
        return fold<T, functors::Add>(output, left, right, count);
      case Reduce::max:
        return fold<T, functors::Maximum>(output, left, right, count);
      case Reduce::min:
        return fold<T, functors::Minimum>(output, left, right, count);
      case Reduce::none:
        break;
    }
    assertion_failed("reduce", "a fold needs a reduction");
  });
}

}  // namespace ferry::cpu
