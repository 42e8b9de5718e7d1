// The keys of random numbers, and draws that need only a key.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "kernels/kernel.hpp"
#include "kernels/philox.hpp"

namespace ferry {

/// The key of an op's random numbers. It is from the op's name (or the name of the op that it copies), the op's seed,
/// and the session's seed.
[[nodiscard]] inline std::uint64_t random_key(const KernelSetup& setup) {
  const std::string* original = nullptr;
  if (setup.attrs.has("key")) original = &setup.attrs.get<std::string>("key");
  return Hasher()
      .add(original != nullptr ? std::string_view(*original) : setup.name)
      .add(setup.attrs.get<std::int64_t>("seed"))
      .add(setup.seed)
      .digest();
}

/// Computes Philox::time. In loops, it mixes the step with the iterations (by the finaliser of splitmix64, S. Vigna).
[[nodiscard]] FERRY_HD constexpr std::uint64_t random_time(std::int64_t step,
                                                           std::span<const std::int64_t> iterations) {
  auto time = static_cast<std::uint64_t>(step);
  for (const std::int64_t iteration : iterations) {
    time += 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(iteration) + 1);
    time = (time ^ (time >> 30)) * 0xbf58476d1ce4e5b9U;
    time = (time ^ (time >> 27)) * 0x94d049bb133111ebU;
    time ^= time >> 31;
  }
  return time;
}
[[nodiscard]] inline std::uint64_t random_time(const KernelRun& run) {
  return random_time(run.step, run.iterations);
}

/// A random integer in [0, end), from block number `end` of the bits. Its bias is below end / 2^64.
[[nodiscard]] FERRY_HD constexpr std::uint64_t draw_below(const Philox& philox, std::uint64_t end) {
  const Philox::Block bits = philox.block(end);
  return (std::uint64_t{bits[1]} << 32 | bits[0]) % end;
}

/// Sets `order` to a random permutation of 0, 1, …, n-1, by a Fisher-Yates shuffle.
inline void draw_order(const Philox& philox, std::span<std::int64_t> order) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw_below(philox, i)]);
}

}  // namespace ferry
