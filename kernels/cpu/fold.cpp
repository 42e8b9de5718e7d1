#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/functors.hpp"

namespace ferry::cpu {
namespace {

template <class T, class F>
void fold(std::byte* output, const std::byte* input, std::int64_t count) {
  auto* out = reinterpret_cast<T*>(output);
  const auto* in = reinterpret_cast<const T*>(input);
  constexpr F kJoin{};
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = kJoin(out[i], in[i]);
}

}  // namespace

void fold_elements(Reduce reduce, DType dtype, std::byte* output, const std::byte* input, std::int64_t count) {
  dispatch_numbers(dtype, [&](auto zero) {
    using T = decltype(zero);
    switch (reduce) {
      case Reduce::sum:
        return fold<T, functors::Add>(output, input, count);
      case Reduce::max:
        return fold<T, functors::Maximum>(output, input, count);
      case Reduce::min:
        return fold<T, functors::Minimum>(output, input, count);
      case Reduce::none:
        break;
    }
    assertion_failed("reduce", "a fold needs a reduction");
  });
}

}  // namespace ferry::cpu
