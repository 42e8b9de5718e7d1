// critical_path: what the run would have to do faster to end earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/report/traced_run.hpp"

namespace ferry {

/// A stretch of the critical path, on one thread.
struct PathSegment {
  enum class Kind : std::uint8_t {
    event,    ///< `event` runs
    message,  ///< the message that `event`, a wait, waits for is on its way
    between,  ///< in a step, between instructions
    outside   ///< not in a step
  };
  Kind kind = Kind::event;
  std::int32_t task = 0, thread = 0;
  std::int64_t begin = 0, end = 0;
  std::uint32_t event = 0;  ///< index into TracedRun::events
};

/// Followed from the end of the last step backwards: through what a thread did, and at a wait for something that was
/// not yet sent (or that another thread had not yet done) over to the one waited for. In the order of time; the
/// segments fill TracedRun::nanoseconds without gaps.
[[nodiscard]] std::vector<PathSegment> critical_path(const TracedRun& run);

}  // namespace ferry
