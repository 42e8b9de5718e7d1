// TracedRun: the content of a trace (executor/observe/trace.hpp) as data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ferry {

/// The activity of a thread during an event.
enum class Activity : std::uint8_t {
  computing,     ///< kernels, copies, feeds and fetches; on a queue, the work of its device
  sending,       ///< starts a message or a collective
  message_wait,  ///< waits for a message or a collective, or until a message is sent
  thread_wait,   ///< waits for other threads or queues of the task
  nested,        ///< a loop or branch: its instructions have their own events
  launching      ///< submits work to a device's queue, which has its own row
};

/// Times are in nanoseconds since the begin of the traced time.
struct TracedEvent {
  std::int32_t task = 0, thread = 0;
  Activity activity = Activity::computing;
  std::int64_t begin = 0, end = 0;
  std::uint32_t name = 0, line = 0;  ///< indices into TracedRun::strings
  std::int32_t message = -1;         ///< index into TracedRun::messages: the message of a message_wait; -1: not known
};

/// A step of one task, or its setup.
struct TracedStep {
  std::int32_t task = 0;
  std::int64_t begin = 0, end = 0;
  std::uint32_t name = 0;
  std::string plan;  ///< the plan's fingerprint as a decimal number; "" if the trace has none
};

/// A message lasts from the begin of its send to the end of the wait for it. A collective lasts from its start on the
/// member that starts it last to the end of another member's wait.
struct TracedMessage {
  std::uint32_t sender = 0, receiver = 0;  ///< indices into TracedRun::events
  std::uint32_t name = 0;
  std::int64_t bytes = 0;  ///< 0 for a collective: its schedule determines the bytes
};

/// Messages from one task to another.
struct TracedLink {
  std::int64_t messages = 0, bytes = 0;
  std::int64_t planned_messages = 0, planned_bytes = 0;  ///< by the plan, for the traced steps
};

struct TracedRun {
  /// The names of the rows that are queues of devices, not threads, by task and thread.
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> queues;
  std::vector<std::string> strings{""};
  std::vector<TracedEvent> events;  ///< by task and thread, then in the order of their begin
  std::vector<TracedStep> steps;    ///< by task, then in the order of their begin
  std::vector<TracedMessage> messages;
  std::map<std::pair<std::int32_t, std::int32_t>, TracedLink> links;  ///< by sender and receiver
  std::int32_t tasks = 0;
  std::int64_t nanoseconds = 0;  ///< from the begin of the first step to the end of the last
};

/// Reads a trace that `ferry run --trace` wrote. Traces of earlier versions have no steps and no links: all events of a
/// task are then one step. `name` is the file's name. Error(file) for any other text.
[[nodiscard]] TracedRun read_trace(std::string_view trace, const std::string& name);

}  // namespace ferry
