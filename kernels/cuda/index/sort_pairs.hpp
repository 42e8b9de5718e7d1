// Sorts pairs of numbers on the GPU, in scratch memory.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/launch.hpp"

namespace ferry::cuda {

/// Sorts n different keys. `room` has room for n keys. Returns the address of the sorted keys: `keys` or `room`.
[[nodiscard]] std::uint64_t* sort_keys(const KernelRun& run, std::uint64_t* keys, std::uint64_t* room, std::int64_t n);

/// The pairs (first(i), i) for i = 0, …, count - 1, sorted by the first number and then by the second.
struct SortedPairs {
  const std::uint64_t* keys;  ///< each has the second number in its lowest `bits` bits, and the first number above
  int bits;
  std::int64_t count;

  [[nodiscard]] FERRY_DEVICE std::uint64_t key(std::int64_t first, std::int64_t second) const {
    return (static_cast<std::uint64_t>(first) << bits) + static_cast<std::uint64_t>(second);
  }
  [[nodiscard]] FERRY_DEVICE std::int64_t first(std::int64_t at) const {
    return static_cast<std::int64_t>(keys[at] >> bits);
  }
  [[nodiscard]] FERRY_DEVICE std::int64_t second(std::int64_t at) const {
    return static_cast<std::int64_t>(keys[at] & ((std::uint64_t{1} << bits) - 1));
  }
  /// Whether there is a pair at this place, and its first number is `number`.
  [[nodiscard]] FERRY_DEVICE bool is_first(std::int64_t at, std::int64_t number) const {
    return at < count && first(at) == number;
  }
};

template <class First>
struct MakePairs {
  FERRY_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t number = first(i);
    keys[i] = pairs.key(number == kNowhere ? end : number, i);
  }
  First first;
  std::int64_t end;
  SortedPairs pairs;
  std::uint64_t* keys;
};

[[nodiscard]] constexpr std::int64_t bytes_to_sort(std::int64_t count) {
  return 2 * count * static_cast<std::int64_t>(sizeof(std::uint64_t));
}

/// Sorts the pairs (first(i), i). All first numbers are below `end`; a pair with kNowhere gets the first number `end`,
/// so it comes last. The pairs are in the first bytes_to_sort(count) bytes of `room`, in the GPU's memory.
template <class First>
[[nodiscard]] SortedPairs sort_pairs(const KernelRun& run, std::span<std::byte> room, std::int64_t count,
                                     std::int64_t end, const First& first) {
  auto* const keys = reinterpret_cast<std::uint64_t*>(room.data());
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)));
  FERRY_ASSERT(static_cast<std::uint64_t>(end) >> (63 - bits) <= 1, "more pairs than can be numbered");
  SortedPairs pairs{keys, bits, count};
  for_each(run, count, MakePairs<First>{first, end, pairs, keys});
  pairs.keys = sort_keys(run, keys, keys + count, count);
  return pairs;
}

}  // namespace ferry::cuda
