// Watch: a thread beside a process's tasks that tells the other processes how they stand, and finds out why the job
// does not go on.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/blob.hpp"
#include "base/error.hpp"
#include "base/net/datagram.hpp"
#include "base/process/process_state.hpp"
#include "base/system/clock.hpp"
#include "base/system/monitor.hpp"
#include "comm/transport.hpp"
#include "executor/watch/flight_exchange.hpp"
#include "executor/watch/position.hpp"
#include "executor/watch/slow_link_watch.hpp"
#include "executor/watch/straggler_watch.hpp"
#include "executor/watch/verdict.hpp"
#include "executor/watch/work_times.hpp"

namespace ferry {

/// Time that counts against the job: it stops while some task computes or makes progress, and runs out at once when
/// there is a verdict. Deadlines of the job are measured with it. Thread-safe.
class JobClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() override {
    return system_clock().now() - Duration(excused_.load(std::memory_order_relaxed)) +
           (over_.load(std::memory_order_relaxed) ? kForever : Duration::zero());
  }
  /// The time for which it has stood still.
  [[nodiscard]] Duration excused() const { return Duration(excused_.load(std::memory_order_relaxed)); }
  void excuse(Duration time) { excused_.fetch_add(time.count(), std::memory_order_relaxed); }
  void set_over(bool over) { over_.store(over, std::memory_order_relaxed); }

 private:
  static constexpr std::chrono::hours kForever{24 * 365 * 10};
  std::atomic<std::int64_t> excused_{0};
  std::atomic<bool> over_{false};
};

/// One per process of a job of several tasks. Its messages go beside the transport, as datagrams: a Unix socket within
/// a host, UDP between hosts, each with a tag that needs the job's secret. They are sent ten times a second, less often
/// to more than 64 processes. Nothing here calls the transport but the constructor.
///
/// It reaches a verdict when a task that others wait for is gone, stopped or not heard from, or when nothing has moved
/// for the deadline. The first verdict is told to all, and all tasks end with it. The process of task 0 warns of tasks
/// that the others wait for in every step, and of a link that is slow. Thread-safe.
///
/// While tasks are spared (Transport::spare) a lost one of them is no verdict: the transport is told, and the process
/// of task 0 warns of it.
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
  /// Tells the others that this process's tasks have left.
  ~Watch() override;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] Position& position(int task);
  [[nodiscard]] JobClock& clock() { return clock_; }
  /// What a task of this process has measured in its last steps.
  void tell_times(int task, WorkTimes times);
  /// Whether there is a verdict. Costs a load.
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// Waits until there is a verdict, for no longer than `at_most`; returns whether there is one.
  [[nodiscard]] bool over_within(Duration at_most) const;
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
  [[nodiscard]] std::vector<Sighting> seen() const;
  /// The tasks without which the job can go on, in place of earlier ones.
  void spare(std::span<const int> tasks);
  [[nodiscard]] std::vector<Loss> found_lost() override;
  void lost(const Loss& loss) override;
  /// Forgets the verdict, for a job that starts again.
  void begin_anew();

 private:
  /// Another process.
  struct Peer {
    int process = 0;
    std::string name;        ///< of its socket
    std::size_t socket = 0;  ///< which of sockets_ reaches it
    bool here = false;
    ProcessId id;
    ProcessState state = ProcessState::running;
    TimePoint state_since, heard;
    std::int64_t beat = 0;  ///< the number of its last datagram
    std::vector<std::int64_t> unheard;
  };

  void find_peers(Transport& between, const Deadline& deadline);
  void prepare();
  void greet(Transport& between, const Deadline& deadline);
  void begin();
  void serve();
  void receive(TimePoint now);
  void take(std::string_view datagram, TimePoint now);
  void take_pulses(BlobReader& reader, TimePoint now);
  void take_times(BlobReader& reader);
  void beat(TimePoint now);
  void look_at_own(TimePoint now);
  void look_at_peers(TimePoint now);
  void count_time(std::span<const Sighting> tasks, TimePoint now);
  void judge(std::span<const Sighting> tasks, TimePoint now);
  [[nodiscard]] std::optional<JobVerdict> found() const;
  [[nodiscard]] std::optional<JobVerdict> found_by(int task, const Error& error,
                                                   const std::optional<Failure>& failure) const;
  void tell() const;
  void look_at_times(std::span<const Sighting> tasks, TimePoint now);
  void look_for_unheard(std::span<const Sighting> tasks);
  void send_times(const Peer& peer) const;
  void send(const std::string& bytes, const Peer& peer) const;
  void send_flight(int process, std::string bytes) const;
  void adopt(const JobVerdict& verdict);
  [[nodiscard]] bool goes_on_without(const JobVerdict& verdict);
  [[nodiscard]] bool is_spared(std::int64_t process) const;
  [[nodiscard]] std::vector<Sighting> sightings(TimePoint now) const;

  const Job job_;
  FlightExchange flights_;
  JobClock clock_;
  std::string secret_;
  std::deque<Position> positions_;  // of the own tasks
  std::vector<int> own_;            // their numbers, ascending
  std::vector<std::string> hosts_;  // by process
  std::vector<std::int64_t> pids_;  // by process
  std::vector<DatagramSocket> sockets_;
  Duration every_{}, patience_{};

  // Used by the watch's thread alone, once it runs.
  std::vector<Peer> peers_;
  std::vector<std::size_t> peer_of_;  // by process: its index in peers_; none for this one
  std::vector<char> room_;
  std::int64_t beats_ = 0;
  TimePoint begun_, last_beat_, last_look_, last_look_at_links_, idle_since_, suspect_since_, cpu_since_;
  StragglerWatch stragglers_;
  SlowLinkWatch slow_links_;
  double cpu_before_ = 0;
  bool busy_ = false, moved_ = false, looked_for_unheard_ = false;

  mutable Monitor monitor_;                  // guards what follows; wakes those that wait for the verdict
  std::vector<Pulse> pulses_;                // by task
  std::vector<Sighting> seen_;               // by task, as of the last beat
  std::optional<TimePoint> measured_since_;  // when the first of times_ came
  std::vector<WorkTimes> times_;             // by task: of the own ones; in the process of task 0 of all
  std::optional<JobVerdict> found_;          // by a task of this process; others may find the like at once
  std::optional<JobVerdict> verdict_;
  std::int64_t generation_ = 0;
  std::vector<bool> spared_, lost_;  // by task
  std::vector<Loss> losses_;         // found here, not told yet

  std::atomic<bool> over_{false}, ending_{false}, any_losses_{false};
  SocketWait wait_;
  std::thread thread_;
};

}  // namespace ferry
