// JobVerdict (stall detection): the reason why a job makes no progress, derived from the states of its tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/process/process_state.hpp"
#include "comm/transport.hpp"
#include "executor/watch/pulse.hpp"

namespace ferry {

/// The state of a task, as one process knows it.
struct TaskStatus {
  Pulse pulse;        ///< the newest pulse
  Duration silent{};  ///< the time since `pulse` arrived
  bool on_this_machine =
      false;          ///< whether the task is on this machine: then `state` is known, and silence alone means nothing
  bool known = true;  ///< false: no heartbeat of the task has ever arrived, so its silence means nothing either
  ProcessState state = ProcessState::running;  ///< of the task's process
  Duration state_age{};                        ///< how long the process has been in that state
  std::string host;
  std::int64_t pid = 0;
  int process = -1;  ///< if processes run several tasks (--invariant): the number of the task's process
  std::vector<std::int64_t> unheard{};  ///< the tasks that this task does not hear from, according to its heartbeat
};

struct JobVerdict {
  int culprit = 0;  ///< the task that the others wait for
  int teller = 0;   ///< the task that prints the verdict
  Code code = Code::stalled;
  std::string text;
};

/// The time that a process must be gone before the verdict, so that its last message arrives first.
inline constexpr std::chrono::milliseconds kGoneGrace{200};
/// How long a task of another host may be silent, or a task of this host may be stopped, before a verdict.
inline constexpr std::chrono::milliseconds kPatience{2200};

/// A process hears from a task of another host if the task has been silent for less than this.
inline constexpr std::chrono::seconds kFresh{1};

/// Finds a task that can never continue. It is gone without having left the job (peer_lost). Or another task waits for
/// it, and it is stopped (stalled) or not heard from (peer_lost). If this process hears from other tasks of its host,
/// the task is stopped, and the verdict comes half of `patience` later: these tasks see what the process does. `tasks`
/// are all tasks of the job, in order; `self` is a task of the calling process. A task in a debugger does not count as
/// stopped. `patience`: kPatience, or more if tasks send pulses less often.
[[nodiscard]] std::optional<JobVerdict> judge_lost(std::span<const TaskStatus> tasks, int self, Duration patience);

/// The verdict for a task that has ended without a report, as its connection shows: `failure`. For tasks of other
/// hosts, judge_lost() must wait for `patience`. The caller prints it: task `self`.
[[nodiscard]] JobVerdict judge_ended(std::span<const TaskStatus> tasks, const Failure& failure, int self);

/// Finds direct calls that can never end. Two tasks wait in different direct calls at the same place (plan). Or a task
/// waits for a task of this machine that has left the job (peer_lost).
[[nodiscard]] std::optional<JobVerdict> judge_direct(std::span<const TaskStatus> tasks);

/// Returns the verdict for a job without progress for `idle`. Its culprit is the task that the other tasks wait for
/// (stalled; peer_lost if it has left). Returns nothing if no task waits within a plan, or if the culprit is busy.
[[nodiscard]] std::optional<JobVerdict> judge_stalled(std::span<const TaskStatus> tasks, Duration idle);

/// Whether the job only waits for its next request. A task that makes requests is alive, and runs the program's own
/// code. All tasks that have made the next call wait for the request, and no task does anything else of the session.
[[nodiscard]] bool awaits_request(std::span<const TaskStatus> tasks);

/// The verdict for a lost connection between two tasks (peer_lost). `failure` describes it; its `unreached_by` is a
/// task.
[[nodiscard]] JobVerdict judge_connection(std::span<const TaskStatus> tasks, const Failure& failure);

/// "task 1 (host b, process 4711)". If processes run several tasks, users call the processes tasks, and the tasks
/// shards: "shard 5 (task 1, host b, process 4711)".
[[nodiscard]] std::string who(const TaskStatus& task);
/// The activity of a task and its duration: "waits in receive of 'w' from task 0 at train.cpp:40, for 61 s".
[[nodiscard]] std::string doing_text(const TaskStatus& task);

}  // namespace ferry
