// TimeUse: the time of a task, by cause.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runner/report/traced_run.hpp"

namespace ferry {

/// The traced time of one task's first thread, by cause, in nanoseconds. The first thread does all messages and large
/// kernels. The sum of the fields is TracedRun::nanoseconds.
struct TimeUse {
  std::int64_t computing = 0;
  std::int64_t moving = 0;  ///< starting messages, and waiting for messages in flight
  std::map<std::int32_t, std::int64_t>
      waiting;               ///< by task: waits for messages that the other task has not begun to send
  std::int64_t threads = 0;  ///< waiting for other threads and queues of the task
  std::int64_t between = 0;  ///< in a step, between instructions, and submitting work to queues
  std::int64_t outside = 0;  ///< not in a step

  [[nodiscard]] std::int64_t sum() const;
};

/// A TimeUse for each task.
[[nodiscard]] std::vector<TimeUse> time_uses(const TracedRun& run);

/// The time at the beginning of a message_wait before the sender began to send. 0 if the sender is not known, or began
/// before the wait.
[[nodiscard]] std::int64_t sender_delay(const TracedRun& run, const TracedEvent& wait);

}  // namespace ferry
