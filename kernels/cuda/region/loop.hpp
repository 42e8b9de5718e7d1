// The loop of a generated kernel (source.hpp), and its reads and writes. NVRTC compiles this header, too, so it
// includes only headers that region/std has.
#pragma once

#include <cstddef>

#include "kernels/cuda/elements/scalars.hpp"

namespace ferry::cuda {

/// A kernel's arguments: addresses of arrays, then numbers. The host fills them in as words of 64 bits.
template <int arrays, int numbers>
struct Arguments {
  void* array[arrays];
  std::int64_t number[numbers];
};

/// At most `n` elements of the output; the index of the first is a multiple of n.
struct GroupPlace {
  std::int64_t first;
  int have;
  bool at_once;  ///< the group has n elements, and all arrays are aligned for groups of n
};

/// Reads a group of an array that has as many elements as the output.
template <int n, class T>
FERRY_HD Group<T, n> read_each(const void* array, const GroupPlace& piece) {
  const T* const from = static_cast<const T*>(array) + piece.first;
  if (piece.at_once) return *reinterpret_cast<const Group<T, n>*>(from);
  Group<T, n> elements;
  for (int k = 0; k < n; ++k) elements.all[k] = from[k < piece.have ? k : 0];
  return elements;
}

template <int n, class T>
FERRY_HD void write_each(void* array, const GroupPlace& piece, const Group<T, n>& elements) {
  T* const to = static_cast<T*>(array) + piece.first;
  if (piece.at_once) {
    *reinterpret_cast<Group<T, n>*>(to) = elements;
  } else {
    for (int k = 0; k < n; ++k)
      if (k < piece.have) to[k] = elements.all[k];
  }
}

/// The offset of the element that is broadcast to `element` of the output. `walk` has the sizes of the dims, then the
/// array's steps along them (kernels/shared/nest.hpp).
template <class Index, int dims>
FERRY_HD Index place_of(const std::int64_t* walk, Index element) {
  Index at = 0;
  for (int d = dims - 1; d >= 0; --d) {
    const auto size = static_cast<Index>(walk[d]);
    const Index index = d == 0 ? element : element % size;
    element /= size;
    at += index * static_cast<Index>(walk[dims + d]);
  }
  return at;
}

/// A group of equal elements.
template <int n, class T>
FERRY_HD Group<T, n> repeated(T element) {
  Group<T, n> elements;
  for (int k = 0; k < n; ++k) elements.all[k] = element;
  return elements;
}

template <int n, class T>
FERRY_HD Group<T, n> read_one(const void* array) {
  return repeated<n>(*static_cast<const T*>(array));
}

/// Reads one element for all elements of a group, which are in one row of the output.
template <int n, class T, class Index, int dims>
FERRY_HD Group<T, n> read_held(const void* array, const std::int64_t* walk, const GroupPlace& piece) {
  return repeated<n>(static_cast<const T*>(array)[place_of<Index, dims>(walk, static_cast<Index>(piece.first))]);
}

/// Reads n consecutive elements for a group, which is in one row of the output.
template <int n, class T, class Index, int dims>
FERRY_HD Group<T, n> read_along(const void* array, const std::int64_t* walk, const GroupPlace& piece) {
  const T* const from = static_cast<const T*>(array) + place_of<Index, dims>(walk, static_cast<Index>(piece.first));
  if (piece.at_once) return *reinterpret_cast<const Group<T, n>*>(from);
  Group<T, n> elements;
  for (int k = 0; k < n; ++k) elements.all[k] = from[k];
  return elements;
}

/// Reads a group element by element. It may extend over several rows of the output.
template <int n, class T, class Index, int dims>
FERRY_HD Group<T, n> read_scattered(const void* array, const std::int64_t* walk, const GroupPlace& piece) {
  Group<T, n> elements;
  for (int k = 0; k < n; ++k) {
    const std::int64_t element = piece.first + (k < piece.have ? k : 0);
    elements.all[k] = static_cast<const T*>(array)[place_of<Index, dims>(walk, static_cast<Index>(element))];
  }
  return elements;
}

/// Calls Region::compute() for group number `group`. The first two numbers of the arguments are the number of elements
/// of the output, and whether all arrays are aligned for groups.
template <class Region>
FERRY_HD void run_group(const typename Region::Arguments& arguments, std::int64_t group) {
  constexpr int n = Region::kGroup;
  const std::int64_t first = group * n, left = arguments.number[0] - first;
  const int have = left < n ? static_cast<int>(left) : n;
  Region::compute(arguments, GroupPlace{first, have, have == n && arguments.number[1] != 0});
}

}  // namespace ferry::cuda

#ifdef __CUDACC__
#define FERRY_REGION(Region)                                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                                      \
      ferry_region(const __grid_constant__ Region::Arguments arguments) {                                \
    const std::int64_t groups = (arguments.number[0] + Region::kGroup - 1) / Region::kGroup;             \
    for (std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; group < groups; \
         group += static_cast<std::int64_t>(gridDim.x) * 256)                                            \
      ferry::cuda::run_group<Region>(arguments, group);                                                  \
  }
#else
#define FERRY_REGION(Region)                                                                              \
  extern "C" [[gnu::visibility("default")]] void ferry_region(const void* arguments, std::int64_t group); \
  void ferry_region(const void* arguments, std::int64_t group) {                                          \
    ferry::cuda::run_group<Region>(*static_cast<const Region::Arguments*>(arguments), group);             \
  }
#endif
