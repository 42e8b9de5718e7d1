// PipelineWork: a unit of work of a pipeline's stage.
#pragma once

#include <cstdint>
#include <vector>

namespace ferry {

/// What one stage does for one microbatch in one pass. The stages that a device has are done one at a time.
struct PipelineWork {
  enum class Pass : std::uint8_t { forward, backward, weights };
  Pass pass = Pass::forward;
  std::uint32_t pipeline = 0;
  std::uint32_t device = 0;
  std::int64_t microbatch = 0;
  std::int64_t stage =
      0;  ///< how far from the beginning of its pass, in devices: the last stage begins the backward one
  std::int64_t time = 0;             ///< in any unit
  std::vector<std::uint32_t> needs;  ///< indices of the work that comes before
};

}  // namespace ferry
