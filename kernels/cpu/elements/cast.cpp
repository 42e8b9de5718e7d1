#include <algorithm>

#include "kernels/cpu/elements/convert.hpp"
#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/functors.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kBlock = 512;

/// The type through which elements of type T are converted: one of five types, which holds all values of T. So there
/// are loops from each dtype to its type here, and from these five to each dtype, instead of a loop for every pair of
/// dtypes.
template <class T>
struct Between {
  using Int = std::conditional_t<(sizeof(T) < 4), std::int32_t, std::int64_t>;
  using type = std::conditional_t<std::is_integral_v<T>, Int, float>;
};
template <>
struct Between<std::int32_t> {
  using type = std::int32_t;
};
template <>
struct Between<std::uint64_t> {
  using type = std::uint64_t;
};
template <>
struct Between<double> {
  using type = double;
};

/// This is a function so that the compiler knows that stores cannot change its arguments.
template <class To, class T>
void write_as(const T* from, To* to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = functors::Cast<To>()(from[i]);
}

template <class T>
void write(DType dtype, const T* from, std::byte* to, std::int64_t count) {
  dispatch(dtype, [&](auto zero) { write_as(from, reinterpret_cast<decltype(zero)*>(to), count); });
}

template <class T>
void convert(const T* from, DType dtype, std::byte* to, std::int64_t count) {
  using Read = typename Between<T>::type;
  if constexpr (std::is_same_v<Read, T>) {
    write(dtype, from, to, count);
  } else {
    Read block[kBlock];
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, count - begin);
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) block[i] = static_cast<Read>(from[begin + i]);  // NOLINT: int8 is a number
      write(dtype, block, to + begin * static_cast<std::int64_t>(size_of(dtype)), n);
    }
  }
}

void cast(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  set_extent(run.inputs, output);
  const auto from_bytes = static_cast<std::int64_t>(size_of(input.dtype));
  const auto to_bytes = static_cast<std::int64_t>(size_of(output.dtype));
  const auto compute = [&](std::int64_t begin, std::int64_t end) {
    convert_elements(input.dtype, input.data + begin * from_bytes, output.dtype, output.data + begin * to_bytes,
                     end - begin);
  };
  if (run.piece.last >= 0)
    run.piece.each_row(compute);
  else
    for_chunks(run.parallel, output.count(), kElementGrain, compute);
}

constexpr Kernel kKernels[] = {{.op = "Cast", .run = cast, .elementwise = true, .takes = kAnyType},
                               {.op = "Narrow", .run = cast, .elementwise = true, .takes = kAnyType}};

}  // namespace

void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to, std::int64_t count) {
  dispatch(from_dtype, [&](auto zero) { convert(reinterpret_cast<const decltype(zero)*>(from), to_dtype, to, count); });
}

std::span<const Kernel> cast_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
