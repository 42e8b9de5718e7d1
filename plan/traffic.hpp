// Traffic: the messages, bytes and copies of a task in a step.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// Messages, bytes and copies of one task in one step, predicted from the plan. Messages are the plan's point-to-point
/// transfers and the messages of collectives, without collectives of the GPUs' library. Copies are copy instructions;
/// the copies of feeds and fetches do not count.
struct Traffic {
  std::int64_t sent_messages = 0, sent_bytes = 0;          ///< messages that the task sends
  std::int64_t received_messages = 0, received_bytes = 0;  ///< messages that it receives
  std::int64_t copies = 0;                                 ///< copies in the memory of the task
  std::int64_t collective_bytes = 0;                       ///< bytes that it gives to collectives of its GPUs' library
  bool operator==(const Traffic&) const = default;
  Traffic& operator+=(const Traffic& other);
};

}  // namespace ferry
#pragma GCC visibility pop
