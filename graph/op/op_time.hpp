// How long planning takes it that an op computes: what layouts and messages are chosen by. What matters is that
// messages and redundant computing are weighed at all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "graph/types/device_spec.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Picoseconds that a device takes for a kernel and its call or launch, for a byte of its inputs and outputs, and for a
/// floating-point operation. The last figure is for a byte of an op without index notation (its work is unknown).
struct ComputeCost {
  double kernel, byte, flop, unknown_byte;
};

/// Approximately one core of 2026, and an H100: 3.35 TB/s of memory and 67 TFLOP/s of float32 (NVIDIA's data sheet).
/// Kernels reach about 0.9 and 0.8 of these figures. A launch takes 3 µs.
[[nodiscard]] constexpr ComputeCost compute_cost(DeviceKind kind) {
  return kind == DeviceKind::cpu ? ComputeCost{50'000, 100, 20, 1600} : ComputeCost{3'000'000, 1.0 / 3, 0.02, 16.0 / 3};
}

/// The slower of arithmetic and memory, in picoseconds. Bytes: the bytes of the inputs and outputs.
[[nodiscard]] inline std::int64_t computing_picoseconds(DeviceKind kind, std::int64_t bytes, double flops) {
  const ComputeCost cost = compute_cost(kind);
  return std::llround(std::max(static_cast<double>(bytes) * cost.byte, flops * cost.flop));
}

/// A kernel's time, the call included. No flops: an op without index notation.
[[nodiscard]] inline std::int64_t kernel_picoseconds(DeviceKind kind, std::int64_t bytes, std::optional<double> flops) {
  const ComputeCost cost = compute_cost(kind);
  return std::llround(cost.kernel) + (flops ? computing_picoseconds(kind, bytes, *flops)
                                            : std::llround(static_cast<double>(bytes) * cost.unknown_byte));
}

}  // namespace ferry
#pragma GCC visibility pop
