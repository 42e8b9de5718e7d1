// The time of an op's work, as planning assumes it: layouts, stages, messages and threads are chosen by it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "graph/op/op_def.hpp"
#include "graph/types/device_spec.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Picoseconds that a device takes for a kernel and its call or launch, for a byte of memory traffic, and for a flop.
struct ComputeCost {
  double kernel, byte, flop;
};

/// Approximately one core of 2026, with 25 GB/s of memory and 100 GFLOP/s of float32 in products: the kernels of the
/// samples are planned within a third of their measured time. An H100 has 3.35 TB/s of memory and 67 TFLOP/s of float32
/// (NVIDIA's data sheet); kernels reach about 0.9 and 0.8 of these figures, and a launch takes 3 µs.
[[nodiscard]] constexpr ComputeCost compute_cost(DeviceKind kind) {
  return kind == DeviceKind::cpu ? ComputeCost{50'000, 40, 10} : ComputeCost{3'000'000, 1.0 / 3, 0.02};
}

/// The slower of arithmetic and memory, in picoseconds.
[[nodiscard]] inline std::int64_t computing_picoseconds(DeviceKind kind, const OpWork& work) {
  const ComputeCost cost = compute_cost(kind);
  return std::llround(std::max(work.bytes * cost.byte, work.flops * cost.flop));
}

/// A kernel's time, the call included.
[[nodiscard]] inline std::int64_t kernel_picoseconds(DeviceKind kind, const OpWork& work) {
  return std::llround(compute_cost(kind).kernel) + computing_picoseconds(kind, work);
}

}  // namespace ferry
#pragma GCC visibility pop
