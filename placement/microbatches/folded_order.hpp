// folded_order: the order of work if stages go down the devices and back: ZB-V of Qi et al., "Zero bubble pipeline
// parallelism", 2024.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/microbatches/pipeline_work.hpp"

namespace ferry {

struct FoldedWork {
  PipelineWork::Pass pass = PipelineWork::Pass::forward;
  bool back = false;  ///< the device's second stage, on the way back
  std::int64_t microbatch = 0;
};

/// The work of device d of p devices for m microbatches, in order. If gradients of weights are not separate passes, the
/// caller ignores their entries. If all passes take the same time and messages take none, all devices are done after
/// the time of 6 m + p - 1 passes. This is optimal if m is at least 3 p / 2. If gradients of weights are not separate
/// passes, and backward passes take twice as long as forward passes, the time is 6 m + 4 (p - 1) forward passes, if m
/// is at least p. Each device keeps the results of at most 2 p forward passes.
[[nodiscard]] std::vector<FoldedWork> folded_order(std::int64_t p, std::int64_t d, std::int64_t m);

}  // namespace ferry
