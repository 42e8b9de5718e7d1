// schedule_work: the order in which the devices of a pipeline do their work, by list scheduling over the work items of
// all microbatches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/control/microbatch.hpp"
#include "placement/microbatches/pipeline_work.hpp"

namespace ferry {

struct ScheduledWork {
  std::uint32_t work = 0;  ///< index of the work item
  std::int64_t begin = 0;  ///< start time, if each work item takes PipelineWork::time and messages take none
};

/// Returns all work items in the order in which they begin. Whenever a device is free, it begins the ready work item
/// that the pipeline's schedule prefers:
///
/// - gpipe: forward before backward.
/// - 1f1b: backward before forward, with a limit of forward passes in flight on each device. The limit is
///   - S - s, for S stages on S devices and a device that has stage s;
///   - 2 (p - r - 1) + (v - 1) p + 1, for p devices with v stages on each, assigned round-robin, and device r
///     (Narayanan et al., 2021);
///   - p for each stage of the device, if stages go down the devices and back; the order is folded_order() if that
///     takes no longer;
///   - otherwise 1 + (S - s) / v, rounded up, for each stage of the device. s is the device's first stage, and v the
///     maximum number of stages of a device.
/// - zero_bubble: like 1f1b; gradients of weights are computed when the device has no other work. A forward pass is in
///   flight until its gradients of weights are computed.
///
/// If no device may begin anything, one device begins a forward pass above the limit. Returns nullopt if the work items
/// need each other in a cycle.
[[nodiscard]] std::optional<std::vector<ScheduledWork>> schedule_work(std::span<const PipelineWork> work,
                                                                      std::span<const PipelineSchedule> schedules);

}  // namespace ferry
