// How long planning takes it that an op computes: what layouts and messages are chosen by. Roughly a core of today;
// what matters is that messages and redundant computing are weighed at all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#pragma GCC visibility push(default)
namespace ferry {

/// The slower of arithmetic and memory, in picoseconds. Bytes: those of the inputs and outputs.
[[nodiscard]] inline std::int64_t computing_picoseconds(std::int64_t bytes, double flops) {
  constexpr std::int64_t kPerByte = 100;
  constexpr double kPerFlop = 20;
  return std::max<std::int64_t>(bytes * kPerByte, std::llround(flops * kPerFlop));
}

/// A kernel's time, the call included. No flops: an op without index notation, whose work is not known.
[[nodiscard]] inline std::int64_t kernel_picoseconds(std::int64_t bytes, std::optional<double> flops) {
  constexpr std::int64_t kPerKernel = 50'000;
  constexpr std::int64_t kPerUnknownByte = 1600;
  return kPerKernel + (flops ? computing_picoseconds(bytes, *flops) : bytes * kPerUnknownByte);
}

}  // namespace ferry
#pragma GCC visibility pop
