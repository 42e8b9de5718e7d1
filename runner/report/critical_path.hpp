// critical_path: the work that would have to be faster for the run to end earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/report/traced_run.hpp"

namespace ferry {

/// A stretch of the critical path, on one thread.
struct PathSegment {
  enum class Kind : std::uint8_t {
    event,    ///< `event` runs
    message,  ///< the message that `event`, a wait, waits for is in flight
    between,  ///< inside of a step, between instructions
    outside   ///< not in a step
  };
  Kind kind = Kind::event;
  std::int32_t task = 0, thread = 0;
  std::int64_t begin = 0, end = 0;
  std::uint32_t event = 0;  ///< index into TracedRun::events
};

/// Follows the path backwards from the end of the last step, through the work of a thread. At a wait for a message that
/// was not yet sent (or for work that another thread had not yet done), the path continues on the thread waited for.
/// The segments are in the order of time, and fill TracedRun::nanoseconds without gaps.
[[nodiscard]] std::vector<PathSegment> critical_path(const TracedRun& run);

}  // namespace ferry
