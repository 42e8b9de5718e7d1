// Watch: a thread in a process that sends the states of the process's tasks to the other processes, and finds the
// reason when the job makes no progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "executor/watch/flight_exchange.hpp"
#include "executor/watch/peer_sockets.hpp"
#include "executor/watch/position.hpp"
#include "executor/watch/slowness.hpp"
#include "executor/watch/stall_detector.hpp"
#include "executor/watch/watch_board.hpp"

namespace ferry {

/// A process of a job with several tasks has one. The watch does not send its messages over the transport, but as
/// datagrams: over a Unix socket within a host, over UDP between hosts. Each has a tag that only processes with the
/// job's secret can make. The watch sends ten times a second, or less often if there are more than 64 other processes
/// or many own tasks. Only the constructor calls the transport.
///
/// The watch reaches a verdict when a task that others wait for is gone, stopped or not heard from, or when the job has
/// made no progress for the deadline. It sends the first verdict to all processes, and all tasks end with it. The
/// process of task 0 warns of tasks that the others wait for in every step, and of a slow link. Thread-safe.
///
/// While tasks are spared (JobMembership::spare), the loss of a spared task is no verdict: the watch reports the loss
/// to the transport, and the process of task 0 warns of it.
class Watch final : public Losses {
 public:
  struct Job {
    std::vector<int> processes;  ///< by task: the process that runs it
    int self = 0;                ///< this process
    Duration deadline{};
    std::string interface {
    };  ///< for messages to other hosts, by name or address; empty: an interface that connects all hosts
    bool gathered = false;  ///< whether the outputs of all tasks go to one place
  };
  /// Makes the watch of a job with all tasks in this process.
  explicit Watch(Job job);
  /// All processes call it together; `between` connects them. Throws the errors of Transport::exchange(), and
  /// Error(resource).
  Watch(Job job, Transport& between, const Deadline& deadline);
  /// Tells the others that this process's tasks have left. Prints the verdict if one of these tasks should print it and
  /// has not called verdict().
  ~Watch() override;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] Position& position(int task);
  [[nodiscard]] JobClock& clock() { return board_.clock(); }
  /// Sets the times that a task of this process has measured in its last steps.
  void set_times(int task, WorkTimes times);
  /// See WatchBoard.
  [[nodiscard]] bool over() const { return board_.over(); }
  [[nodiscard]] bool over_within(Duration at_most) const { return board_.over_within(at_most); }
  /// The error of the verdict, for a task of this process. If outputs are gathered, and another task prints the
  /// verdict, the error is marked by Error::told_elsewhere(). Precondition: over().
  [[nodiscard]] Error verdict(int task) const;
  /// Returns `error` of a task of this process, or the verdict if there is one. Missing tasks in an exchange, a lost
  /// connection, and a signal also lead to a verdict. For missing tasks the verdict has their activity. If outputs are
  /// gathered, an error that only repeats the error of another task is marked by Error::told_elsewhere().
  [[nodiscard]] Error explained(const Error& error, int task, const std::optional<Failure>& failure);
  /// The task that prints the verdict, if there is one.
  [[nodiscard]] std::optional<int> teller() const;
  /// The exchange of the tasks' last activities, after the job has failed.
  [[nodiscard]] FlightExchange& flights() { return flights_; }
  /// True if this process must gather the records, because it is the first live one.
  [[nodiscard]] bool gathers() const;
  /// The tasks of other processes that are alive and that this process hears from.
  [[nodiscard]] std::vector<int> answering() const;
  /// The states of all tasks, in order, at the last beat.
  [[nodiscard]] std::vector<TaskStatus> statuses() const { return board_.statuses(); }
  /// Sets the tasks that the job can continue without, in place of earlier ones.
  void spare(std::span<const int> tasks) { board_.spare(tasks); }
  [[nodiscard]] std::vector<Loss> found_lost() override { return board_.take_losses(); }
  void lost(const Loss& loss) override;
  /// Removes the verdict when the job starts again.
  void restart();

 private:
  Watch(Job job, Transport* between, const Deadline& deadline);

  void send_first_heartbeat(Transport& between, const Deadline& deadline);
  void begin();
  void serve();
  void receive(TimePoint now);
  void take(std::string_view datagram, TimePoint now);
  void take_heartbeat(const Heartbeat& beat, TimePoint now);
  void beat(TimePoint now);
  void look_at_own(TimePoint now);
  void look_at_peers(TimePoint now);
  void judge(std::span<const TaskStatus> tasks, TimePoint now);
  void send_heartbeat();
  void look_at_times(std::span<const TaskStatus> tasks, TimePoint now);
  void look_for_unheard(std::span<const TaskStatus> tasks);
  void send_times() const;
  /// Returns the verdict that follows from an error of a task and the failure of its transport, if any.
  [[nodiscard]] std::optional<JobVerdict> find(int task, const Error& error,
                                               const std::optional<Failure>& failure) const;
  [[nodiscard]] int process_of(int task) const { return job_.processes[task]; }
  [[nodiscard]] bool is_first() const { return job_.self == job_.processes[0]; }

  const Job job_;
  PeerSockets sockets_;
  FlightExchange flights_;
  WatchBoard board_;
  SlownessWatch slowness_;
  const std::vector<int> own_;      // the own tasks, ascending
  std::deque<Position> positions_;  // of the own tasks
  const std::int64_t beat_factor_;  // how many times longer the interval between beats is than in a small job

  // Only the watch's thread uses the fields below, once it runs.
  StallDetector detector_;
  std::int64_t beats_ = 0;
  TimePoint begun_, last_beat_, cpu_since_;
  double cpu_before_ = 0;
  bool busy_ = false, looked_for_unheard_ = false;

  std::atomic<bool> ending_{false};
  mutable std::atomic<bool> printed_{false};  ///< verdict() has been called for its teller
  std::thread thread_;
};

}  // namespace ferry
