// StallDetector: the states of all tasks of a job, as one process knows them, and the verdict that follows from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/system/clock.hpp"
#include "executor/watch/peer_sockets.hpp"
#include "executor/watch/pulse.hpp"
#include "executor/watch/verdict.hpp"

namespace ferry {

/// The message that each process sends to the others several times a second.
struct Heartbeat {
  std::int64_t generation = 0;  ///< WatchBoard::generation
  std::int64_t process = 0, number = 0;
  std::vector<std::int64_t> unheard{};  ///< the tasks that the process does not hear from
  std::optional<JobVerdict> verdict{};
  std::vector<Pulse> pulses{};  ///< of the tasks of the process
};
/// Returns the heartbeat as datagrams: several if the pulses do not fit into one.
[[nodiscard]] std::vector<std::string> packed(const Heartbeat& beat);
/// Reads the rest of a datagram. It begins with `kHeartbeat`, which `reader` has read. Throws the errors of BlobReader.
inline constexpr std::int64_t kHeartbeat = 0x3168637461777266;  // "frwatch1"
[[nodiscard]] Heartbeat read_heartbeat(BlobReader& reader);

/// Has no thread, socket or clock: the caller reports events with their times, and requests the verdict. Only one
/// thread may use it.
///
///     detector.add_heartbeat(beat, now);                                    // from another process
///     detector.set_pulse(position.pulse(now, busy));               // of an own task
///     const auto tasks = detector.make_statuses(now, lost);
///     clock.exclude(detector.count_time(tasks, now));
///     if (const auto verdict = detector.judge(tasks, found, now)) …
class StallDetector {
 public:
  struct Job {
    std::vector<int> processes;  ///< by task: the process that runs it
    int self = 0;                ///< this process
    Duration patience = kPatience;
  };
  /// `deadline`: the time without progress after which the job has stalled. `processes`: PeerSockets::processes().
  StallDetector(Job job, Duration deadline, std::vector<PeerSockets::Process> processes, TimePoint now);

  /// Sets the state of a task of this process.
  void set_pulse(Pulse pulse);
  [[nodiscard]] const Pulse& pulse(int task) const { return pulses_[task]; }
  /// Returns whether the heartbeat counts: it comes from another process and is not older than the last one.
  bool add_heartbeat(const Heartbeat& beat, TimePoint now);
  void set_state(int process, ProcessState state, TimePoint now);
  /// Call it after this process itself was stopped: an old last heartbeat does not mean then that its sender is silent.
  void reset_silence(TimePoint now);

  /// The tasks of other hosts that this process does not hear from.
  [[nodiscard]] std::vector<std::int64_t> unheard(TimePoint now) const;
  /// The states of all tasks, in order. `lost`, by task: whether the job continues without the task.
  [[nodiscard]] std::vector<TaskStatus> make_statuses(TimePoint now, const std::vector<bool>& lost) const;
  /// Returns the time since the last call if it does not count as a stall: a task has moved or computes, or the job
  /// waits for its next request. Else returns 0.
  [[nodiscard]] Duration count_time(std::span<const TaskStatus> tasks, TimePoint now);
  /// Returns a verdict, unless a process with a lower number is likely to reach it first. `found`: the verdict that a
  /// task of this process has found.
  [[nodiscard]] std::optional<JobVerdict> judge(std::span<const TaskStatus> tasks,
                                                const std::optional<JobVerdict>& found, TimePoint now);

 private:
  struct Process {
    ProcessState state = ProcessState::running;
    TimePoint state_since, heard;
    std::int64_t beat = 0;  ///< the number of its last heartbeat
    std::vector<std::int64_t> unheard{};
  };
  void store_pulse(Pulse pulse);
  [[nodiscard]] std::size_t process_of(int task) const { return static_cast<std::size_t>(job_.processes[task]); }

  const Job job_;
  const Duration deadline_;
  const int own_task_;  // the first task of this process
  const std::vector<PeerSockets::Process> names_;
  std::vector<Process> processes_;  // by number, with this process
  std::vector<Pulse> pulses_;       // by task
  bool moved_ = false;
  Duration idle_{};  // the time without progress
  TimePoint counted_, suspect_since_;
};

}  // namespace ferry
