// In which order the stages of a pipeline do their work: list scheduling over the units of work of all microbatches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/control/microbatch.hpp"
#include "placement/microbatches/pipeline_work.hpp"

namespace ferry {

struct ScheduledWork {
  std::uint32_t work = 0;  ///< its index
  std::int64_t begin = 0;  ///< if all takes the time that it says, and messages none
};

/// All of the work in the order in which it is begun, if each device, whenever it is free, begins what the schedule of
/// the pipeline wants of what could be begun:
///
/// - gpipe: forward before backward.
/// - 1f1b: backward before forward, and no more forward passes in flight than are needed. With S stages on S devices
///   that is S - s in stage s. With p devices and v stages each, taken in turns, it is
///   2 (p - r - 1) + (v - 1) p + 1 on device r (Narayanan et al., 2021). If stages go down the devices and back, it is
///   p for each device, in the order of folded_order() if that takes no longer. Otherwise it is, for each stage of a
///   device, 1 + (S - s) / v, rounded up, with the device's first stage s and the most stages v of a device.
/// - zero_bubble: the same, and gradients of weights when there is nothing else; a forward pass is in flight until they
///   are computed.
///
/// Where no device may begin anything, one begins a forward pass more. Nothing: the work needs itself.
[[nodiscard]] std::optional<std::vector<ScheduledWork>> schedule_work(std::span<const PipelineWork> work,
                                                                      std::span<const PipelineSchedule> schedules);

}  // namespace ferry
