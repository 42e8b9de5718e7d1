// TracedRun: what a trace (executor/observe/trace.hpp) says, as data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ferry {

/// What a thread does during an event.
enum class Activity : std::uint8_t {
  computing,     ///< kernels, copies, feeds and fetches; of a queue, what its device does
  sending,       ///< starts a message or a collective
  message_wait,  ///< waits for a message, a collective, or that a message has left
  thread_wait,   ///< waits for other threads or queues of the task
  nested,        ///< a loop or branch: its instructions are events of their own
  launching      ///< gives work to a device's queue, which has a row of its own
};

/// Times are in nanoseconds since the begin of the traced time.
struct TracedEvent {
  std::int32_t task = 0, thread = 0;
  Activity activity = Activity::computing;
  std::int64_t begin = 0, end = 0;
  std::uint32_t name = 0, line = 0;  ///< indices into TracedRun::strings
  std::int32_t message = -1;         ///< what a message_wait waits for, index into TracedRun::messages; -1: not known
};

/// A step of one task, or its setup.
struct TracedStep {
  std::int32_t task = 0;
  std::int64_t begin = 0, end = 0;
  std::uint32_t name = 0;
  std::string plan;  ///< the plan's fingerprint as a decimal number; "" in a trace that does not say
};

/// From the beginning of a send to the end of the wait for it. Of a collective: from the beginning of it on the member
/// that comes last to the end of another member's wait.
struct TracedMessage {
  std::uint32_t sender = 0, receiver = 0;  ///< indices into TracedRun::events
  std::uint32_t name = 0;
  std::int64_t bytes = 0;  ///< 0 of a collective: there the schedule says who sends what
};

/// Messages from one task to another.
struct TracedLink {
  std::int64_t messages = 0, bytes = 0;
  std::int64_t planned_messages = 0, planned_bytes = 0;  ///< what the plan lets the traced steps send
};

struct TracedRun {
  /// The rows that are no threads, but queues of devices: their names, by task and thread.
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> queues;
  std::vector<std::string> strings{""};
  std::vector<TracedEvent> events;  ///< by task and thread, then in the order of their begin
  std::vector<TracedStep> steps;    ///< by task, then in the order of their begin
  std::vector<TracedMessage> messages;
  std::map<std::pair<std::int32_t, std::int32_t>, TracedLink> links;  ///< by sender and receiver
  std::int32_t tasks = 0;
  std::int64_t nanoseconds = 0;  ///< from the begin of the first step to the end of the last
};

/// Reads a trace that `ferry run --trace` wrote, also of earlier versions, which say nothing of steps and links: there
/// all that a task did is one step. `name` is the file's. Error(file) for any other text.
[[nodiscard]] TracedRun read_trace(std::string_view trace, const std::string& name);

}  // namespace ferry
