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
  T one;  ///< as the bits of an element; zero has no bits set in any dtype
  std::int64_t depth, begin;
};

/// The bits of 1; the bits of the first byte come first.
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
    // The depth may be split: this part begins somewhere in it.
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
