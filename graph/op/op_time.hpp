// The time of an op's work, as planning assumes it to choose layouts, stages, messages and threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/planned_time.hpp"
#include "graph/op/compute_costs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/types/device_spec.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The costs of GPUs, in picoseconds. An H100 has 3.35 TB/s of memory bandwidth and 67 TFLOP/s of float32 (NVIDIA's
/// data sheet). Kernels reach about 0.9 and 0.8 of these figures, and a launch takes 3 µs.
inline constexpr ComputeCosts kGpuCosts{.call = 3'000'000,
                                        .memory_byte = 1.0 / 3,
                                        .cache_byte = 1.0 / 3,
                                        .product_flop = 0.02,
                                        .convolution_flop = 0.02,
                                        .reduction_flop = 0.02,
                                        .element_flop = 0.02};

/// Kernels that take less than this many picoseconds do not split over threads.
inline constexpr double kLeastSplit = 1'300'000;

/// The costs of a device of this kind; `host` are the costs of the hosts.
[[nodiscard]] constexpr const ComputeCosts& costs_of(DeviceKind kind, const ComputeCosts& host) {
  return kind == DeviceKind::cpu ? host : kGpuCosts;
}

/// The picoseconds of the arithmetic, without memory traffic.
[[nodiscard]] constexpr double arithmetic_picoseconds(const ComputeCosts& costs, const OpWork& work) {
  switch (work.kind) {
    case WorkKind::product:
      return work.flops * costs.product_flop;
    case WorkKind::convolution:
      return work.flops * costs.convolution_flop;
    case WorkKind::reduction:
      return work.flops * costs.reduction_flop;
    default:
      return work.flops * costs.element_flop;
  }
}

/// The picoseconds of this many bytes of memory traffic, without arithmetic.
[[nodiscard]] constexpr double traffic_picoseconds(const ComputeCosts& costs, double bytes) {
  return bytes * (bytes > costs.cache_bytes ? costs.memory_byte : costs.cache_byte);
}

/// The slower of arithmetic and memory traffic, in picoseconds, on this many threads.
[[nodiscard]] inline std::int64_t slower_picoseconds(const ComputeCosts& costs, double arithmetic, double traffic,
                                                     int threads) {
  const auto split = [threads](double time, double parallel) {
    return time < kLeastSplit ? time : time * (1 - parallel + parallel / threads);
  };
  return rounded_time(std::max(split(arithmetic, costs.parallel_flops), split(traffic, costs.parallel_bytes)));
}

/// The time of an op's work on the CPU or GPU of a task, in picoseconds, without the call of the kernel. `host` are the
/// costs of the hosts, and `threads` is the number of threads of the task.
[[nodiscard]] inline std::int64_t computing_picoseconds(DeviceKind kind, const ComputeCosts& host, const OpWork& work,
                                                        int threads = 1) {
  const ComputeCosts& costs = costs_of(kind, host);
  return slower_picoseconds(costs, arithmetic_picoseconds(costs, work), traffic_picoseconds(costs, work.bytes),
                            threads);
}

/// The time of a kernel in picoseconds, with its call.
[[nodiscard]] inline std::int64_t kernel_picoseconds(DeviceKind kind, const ComputeCosts& host, const OpWork& work,
                                                     int threads = 1) {
  return add_times(rounded_time(costs_of(kind, host).call), computing_picoseconds(kind, host, work, threads));
}

}  // namespace ferry
#pragma GCC visibility pop
