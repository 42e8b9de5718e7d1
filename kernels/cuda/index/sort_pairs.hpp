// Pairs of numbers that are sorted on the GPU, in scratch memory.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "kernels/cuda/index/places.hpp"
#include "kernels/cuda/launch.hpp"

namespace ferry::cuda {

/// Sorts n keys. No two keys are equal. `room` has room for as many. Returns where they are then: one of the two.
[[nodiscard]] std::uint64_t* sort_keys(const KernelRun& run, std::uint64_t* keys, std::uint64_t* room, std::int64_t n);

/// Pairs (first(i), i) of i = 0, …, count - 1, sorted: equal ones of the first numbers come in their order.
struct SortedPairs {
  const std::uint64_t* keys;  ///< the first number, then the second, of `bits` bits
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
  /// Whether there is such a place, with this first number.
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

/// Sorts pairs with first numbers below `end`; those for which first(i) is kNowhere come last, with `end`. They lie in
/// the first bytes_to_sort(count) bytes of `room`, in the GPU's memory.
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
