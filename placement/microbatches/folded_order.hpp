// The order of work where stages go down the devices and back: ZB-V of Qi et al., "Zero bubble pipeline parallelism",
// 2024.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/microbatches/pipeline_work.hpp"

namespace ferry {

struct FoldedWork {
  PipelineWork::Pass pass = PipelineWork::Pass::forward;
  bool back = false;  ///< in the device's second stage, on the way back
  std::int64_t microbatch = 0;
};

/// What device d of p does, one after another, with m microbatches; where gradients of weights are not apart, without
/// these. If all passes take the same time and messages take none, all devices are done after the time of 6 m + p - 1
/// passes. From 3 p / 2 microbatches on, this is optimal. If gradients of weights are not separate passes, and backward
/// passes take twice as long as forward passes, the time is 6 m + 4 (p - 1) forward passes, from p microbatches on.
/// Each device keeps the results of at most 2 p forward passes.
[[nodiscard]] std::vector<FoldedWork> folded_order(std::int64_t p, std::int64_t d, std::int64_t m);

}  // namespace ferry
