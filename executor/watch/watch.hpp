// Watch: a thread beside a process's tasks that tells the other processes how they stand, and finds out why the job
// does not go on.
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

/// One per process of a job of several tasks. Its messages go beside the transport, as datagrams: a Unix socket within
/// a host, UDP between hosts, each with a tag that needs the job's secret. They are sent ten times a second, less often
/// to more than 64 processes. Nothing here calls the transport but the constructor.
///
/// It reaches a verdict when a task that others wait for is gone, stopped or not heard from, or when nothing has moved
/// for the deadline. The first verdict is told to all, and all tasks end with it. The process of task 0 warns of tasks
/// that the others wait for in every step, and of a link that is slow. Thread-safe.
///
/// While tasks are spared (JobMembership::spare), the loss of one of them is no verdict: the watch reports it to the
/// transport, and the process of task 0 warns of it.
class Watch final : public Losses {
 public:
  struct Job {
    std::vector<int> processes;  ///< by task: the process that runs it
    int self = 0;                ///< this process
    Duration deadline{};
    std::string interface {
    };                      ///< for messages to other hosts, by name or address; empty: one that all are connected to
    bool gathered = false;  ///< what all tasks print comes out in one place
  };
  /// Where all tasks are in this process.
  explicit Watch(Job job);
  /// All processes call it together; `between` connects them. Errors of Transport::exchange(); Error(resource).
  Watch(Job job, Transport& between, const Deadline& deadline);
  /// Tells the others that this process's tasks have left. Prints a verdict whose teller is one of these tasks and did
  /// not ask for it.
  ~Watch() override;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] Position& position(int task);
  [[nodiscard]] JobClock& clock() { return board_.clock(); }
  /// What a task of this process has measured in its last steps.
  void tell_times(int task, WorkTimes times);
  /// As WatchBoard.
  [[nodiscard]] bool over() const { return board_.over(); }
  [[nodiscard]] bool over_within(Duration at_most) const { return board_.over_within(at_most); }
  /// The error of the verdict, for a task of this process; told elsewhere unless that task is to print it. Only when
  /// over().
  [[nodiscard]] Error verdict(int task) const;
  /// `error` of a task of this process, replaced by the verdict if there is one. An exchange with missing tasks leads
  /// to a verdict, with the activity of these tasks; so do a lost connection and a signal. An error that only echoes
  /// what another task says is told elsewhere.
  [[nodiscard]] Error explained(const Error& error, int task, const std::optional<Failure>& failure);
  /// The task that prints the verdict, if there is one.
  [[nodiscard]] std::optional<int> teller() const;
  /// What the tasks did last, once the job has failed.
  [[nodiscard]] FlightExchange& flights() { return flights_; }
  /// True if this process must gather the records, because it is the first live one.
  [[nodiscard]] bool gathers() const;
  /// The tasks of other processes that can answer.
  [[nodiscard]] std::vector<int> answering() const;
  /// How all tasks stand, in order, as of the last beat.
  [[nodiscard]] std::vector<Sighting> seen() const { return board_.seen(); }
  /// The tasks without which the job can go on, in place of earlier ones.
  void spare(std::span<const int> tasks) { board_.spare(tasks); }
  [[nodiscard]] std::vector<Loss> found_lost() override { return board_.take_losses(); }
  void lost(const Loss& loss) override;
  /// Forgets the verdict, for a job that starts again.
  void restart();

 private:
  Watch(Job job, Transport* between, const Deadline& deadline);

  void greet(Transport& between, const Deadline& deadline);
  void begin();
  void serve();
  void receive(TimePoint now);
  void take(std::string_view datagram, TimePoint now);
  void take_heartbeat(const Heartbeat& beat, TimePoint now);
  void beat(TimePoint now);
  void look_at_own(TimePoint now);
  void look_at_peers(TimePoint now);
  void judge(std::span<const Sighting> tasks, TimePoint now);
  void tell();
  void look_at_times(std::span<const Sighting> tasks, TimePoint now);
  void look_for_unheard(std::span<const Sighting> tasks);
  void send_times() const;
  /// What an error of a task, with its transport's failure, says of the reason why the job ends.
  [[nodiscard]] std::optional<JobVerdict> find(int task, const Error& error,
                                               const std::optional<Failure>& failure) const;
  [[nodiscard]] int process_of(int task) const { return job_.processes[static_cast<std::size_t>(task)]; }
  [[nodiscard]] bool is_first() const { return job_.self == job_.processes[0]; }

  const Job job_;
  PeerSockets sockets_;
  FlightExchange flights_;
  WatchBoard board_;
  SlownessWatch slowness_;
  const std::vector<int> own_;      // the own tasks, ascending
  std::deque<Position> positions_;  // of the own tasks
  const std::int64_t rarity_;       // how many times fewer beats there are than in a small job

  // Used by the watch's thread alone, once it runs.
  StallDetector detector_;
  std::int64_t beats_ = 0;
  TimePoint begun_, last_beat_, cpu_since_;
  double cpu_before_ = 0;
  bool busy_ = false, looked_for_unheard_ = false;

  std::atomic<bool> ending_{false};
  mutable std::atomic<bool> told_{false};  ///< verdict() has been called for its teller
  std::thread thread_;
};

}  // namespace ferry
