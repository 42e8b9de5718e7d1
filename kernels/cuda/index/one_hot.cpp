#include <cstring>

#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/functors.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cuda {
namespace {

template <class T>
struct OneHot {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const auto [row, place] = divided(i, depth);
    to[i] = indices[row] - begin == place ? one : T(0);
  }
  Integers indices;
  T* to;
  T one;  ///< the bits of a 1 in the output's dtype; the bits of 0 are zero in every dtype
  std::int64_t depth, begin;
};

/// The bits of a 1 of this dtype, in the lowest bytes of the result.
std::uint64_t bits_of_one(DType dtype) {
  std::uint64_t bits = 0;
  dispatch(dtype, [&](auto zero) {
    const auto one = functors::Cast<decltype(zero)>()(std::int64_t{1});
    std::memcpy(&bits, &one, sizeof one);
  });
  return bits;
}

void one_hot(KernelRun& run) {
  const Array& output = run.outputs[0];
  dispatch_sizes(output.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto one = static_cast<T>(bits_of_one(output.dtype));
    // The output may be a part of the whole depth. output.begin is where the part begins.
    for_each(run, output.count(),
             OneHot<T>{Integers(run.inputs[0]), output.as<T>(), one, output.sizes.back(), output.begin.back()});
  });
}

constexpr Kernel kOneHotKernels[] = {{.op = "OneHot", .run = one_hot, .takes = kAnyType}};

}  // namespace

std::span<const Kernel> one_hot_kernels() {
  return kOneHotKernels;
}

}  // namespace ferry::cuda
