// The keys of random numbers.
#pragma once

#include "base/hash.hpp"
#include "kernels/kernel.hpp"
#include "kernels/philox.hpp"

namespace ferry::cpu {

/// The key of an op's numbers: its name (or that of the op it is a copy of), its seed and the session's.
[[nodiscard]] inline std::uint64_t random_key(const KernelSetup& setup) {
  const std::string* original = nullptr;
  if (setup.attrs.has("key")) original = &setup.attrs.get<std::string>("key");
  return Hasher()
      .add(original != nullptr ? std::string_view(*original) : setup.name)
      .add(setup.attrs.get<std::int64_t>("seed"))
      .add(setup.seed)
      .digest();
}

/// Philox::time: the step, mixed within loops with the iterations (by the finaliser of splitmix64, S. Vigna).
[[nodiscard]] inline std::uint64_t random_time(const KernelRun& run) {
  auto time = static_cast<std::uint64_t>(run.step);
  for (std::int64_t iteration : run.iterations) {
    time += 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(iteration) + 1);
    time = (time ^ (time >> 30)) * 0xbf58476d1ce4e5b9U;
    time = (time ^ (time >> 27)) * 0x94d049bb133111ebU;
    time ^= time >> 31;
  }
  return time;
}

/// Sets `order` to a random permutation of 0, 1, …, n-1, by a Fisher-Yates shuffle with 64-bit numbers modulo the range
/// (so the bias is below n / 2^64).
void draw_order(const Philox& philox, std::span<std::int64_t> order);

}  // namespace ferry::cpu
