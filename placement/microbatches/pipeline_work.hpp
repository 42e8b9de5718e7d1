// PipelineWork: a work item of a pipeline.
#pragma once

#include <cstdint>
#include <vector>

namespace ferry {

/// The work of one stage for one microbatch in one pass. A device does its work items one at a time.
struct PipelineWork {
  enum class Pass : std::uint8_t { forward, backward, weights };
  Pass pass = Pass::forward;
  std::uint32_t pipeline = 0;
  std::uint32_t device = 0;
  std::int64_t microbatch = 0;
  std::int64_t stage =
      0;  ///< number of devices from the beginning of its pass; the backward pass begins with the last stage
  std::int64_t time = 0;             ///< in any unit, the same for all work
  std::vector<std::uint32_t> needs;  ///< indices of the work items that must come before
};

}  // namespace ferry
