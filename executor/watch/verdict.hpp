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

/// What one process knows of a task.
struct Sighting {
  Pulse pulse;                                 ///< the newest
  Duration silent{};                           ///< since then
  bool here = false;                           ///< on this machine: `state` is known, and silence alone means nothing
  bool known = true;                           ///< false: it has never been heard, so its silence means nothing either
  ProcessState state = ProcessState::running;  ///< of its process
  Duration state_age{};                        ///< how long it has been in that state
  std::string host;
  std::int64_t pid = 0;
  std::vector<std::int64_t> unheard{};  ///< the tasks that it does not hear from, as it says
};

struct JobVerdict {
  int culprit = 0;  ///< the task that the others wait for
  int teller = 0;   ///< the task that prints it
  Code code = Code::stalled;
  std::string text;
};

/// The time that a process must be gone before the verdict, so that its last message arrives first.
inline constexpr std::chrono::milliseconds kLastWords{200};
/// How long a task of another host may be silent, or one of this host be stopped.
inline constexpr std::chrono::milliseconds kPatience{2200};

/// A task of another host counts as heard from while its silence is shorter.
inline constexpr std::chrono::seconds kFresh{1};

/// A task that can never go on: it is gone without having left the job (peer_lost); or another task waits for it, and
/// it is stopped (stalled) or not heard from (peer_lost). `tasks` are all tasks of the job, in order; `self` is one of
/// the judging process. A task under a debugger is none of these. `patience`: kPatience, or more where tasks tell of
/// themselves less often.
[[nodiscard]] std::optional<JobVerdict> judge_lost(std::span<const Sighting> tasks, int self, Duration patience);

/// Direct calls that can never be done: two tasks wait for each other in different ones at the same place (plan), or a
/// task waits for one of this machine that has left the job (peer_lost).
[[nodiscard]] std::optional<JobVerdict> judge_direct(std::span<const Sighting> tasks);

/// For a job in which no message has moved for `idle`: the task that keeps the others waiting (stalled; peer_lost if it
/// has left). Nothing when no task waits within a plan, or a task is busy for which the others wait.
[[nodiscard]] std::optional<JobVerdict> judge_stalled(std::span<const Sighting> tasks, Duration idle);

/// Whether the job only waits for its next request: a task that makes requests is alive, and runs the program's own
/// code; all tasks that have made the next call wait for that, and no task does anything else of the session.
[[nodiscard]] bool awaits_request(std::span<const Sighting> tasks);

/// The connection from one task to another was lost, as `failure` says, which has `unreached_by` (peer_lost).
[[nodiscard]] JobVerdict judge_connection(std::span<const Sighting> tasks, const Failure& failure);

/// "task 1 (host b, process 4711)".
[[nodiscard]] std::string who(const Sighting& task);
/// Its activity in words, and for how long: "waits in receive of 'w' from task 0 at train.cpp:40, for 61 s".
[[nodiscard]] std::string doing_text(const Sighting& task);

}  // namespace ferry
