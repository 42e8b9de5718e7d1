// TimeUse: what a task's time went into.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runner/report/traced_run.hpp"

namespace ferry {

/// The traced time of one task's first thread, which has its messages and its large kernels, by cause. The sum is
/// TracedRun::nanoseconds, in which all fields are.
struct TimeUse {
  std::int64_t computing = 0;
  std::int64_t moving = 0;  ///< starting messages, and waiting for messages that are on their way
  std::map<std::int32_t, std::int64_t>
      waiting;               ///< by task: waits for messages that the other task has not begun to send
  std::int64_t threads = 0;  ///< waiting for other threads and queues of the task
  std::int64_t between = 0;  ///< in a step, between instructions, and giving work to queues
  std::int64_t outside = 0;  ///< not in a step

  [[nodiscard]] std::int64_t sum() const;
};

/// One for each task.
[[nodiscard]] std::vector<TimeUse> time_uses(const TracedRun& run);

/// The time of a message_wait before the sender began to send, which is the rest's beginning: 0 if the sender is not
/// known or was earlier.
[[nodiscard]] std::int64_t late_by(const TracedRun& run, const TracedEvent& wait);

}  // namespace ferry
