// DirectRun: one direct call of this task, from its start until it is done; and DirectJob, which waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/float_state.hpp"
#include "base/source_location.hpp"
#include "base/system/event_count.hpp"
#include "comm/failure.hpp"
#include "comm/transport.hpp"
#include "executor/job/job_state.hpp"
#include "executor/watch/position.hpp"

namespace ferry {

/// A group of tasks that makes direct calls, as the job sees it.
class CallGroup {
 public:
  /// `id`: 0 for the group of all tasks; no other group of this task has it.
  explicit CallGroup(int id) : id_(id) {}
  virtual ~CallGroup() = default;
  CallGroup(const CallGroup&) = delete;
  CallGroup& operator=(const CallGroup&) = delete;

  [[nodiscard]] int id() const { return id_; }

 private:
  const int id_;
};

/// One call. DirectJob starts it and makes progress with it.
class DirectRun {
 public:
  DirectRun(const CallGroup& group, const source_location& at) : group_(group), at_(at) {}
  virtual ~DirectRun() = default;
  DirectRun(const DirectRun&) = delete;
  DirectRun& operator=(const DirectRun&) = delete;

  /// Makes as much progress as possible; true when this task's part is done. Called only once the run is among the
  /// first of its queue.
  [[nodiscard]] virtual bool progress() = 0;
  /// A description of the call and its wait, for people and for the watch.
  [[nodiscard]] virtual Awaited awaited() const = 0;
  /// The runs in one queue of a group run in order; the first `at_once` runs make progress at the same time.
  struct Queue {
    std::uint64_t number = 0;
    std::size_t at_once = 1;
  };
  [[nodiscard]] virtual Queue queue() const = 0;

  [[nodiscard]] const CallGroup& group() const { return group_; }
  /// The caller's line. The file's name is shortened to fit a message.
  [[nodiscard]] std::string line() const;
  [[nodiscard]] bool done() const { return done_; }
  void set_done() { done_ = true; }

 private:
  friend class DirectJob;
  const CallGroup& group_;
  const source_location at_;
  bool done_ = false;
  std::int64_t generation_ = 0;  // DirectJob::generation() when the run was added
  std::uint64_t number_ = 0;     // its position in the order of starts
  // For test(). `tested_`: the job's time of the first test, or of the last progress since. `tested_at_`: the system's
  // time of the first test. `reported_at_`: the system's time of the last report to the watch.
  std::optional<TimePoint> tested_;
  TimePoint tested_at_, reported_at_;
};

/// The direct calls of a process, which has one task. Used from the thread that made the Cluster.
class DirectJob {
 public:
  explicit DirectJob(JobState& state) : state_(state) {}

  /// Throws Error(usage) on another thread, or in a process with several tasks. If the job has failed, throws its
  /// failure.
  void require_usable();
  /// The number of the current transport. A call that was prepared with an earlier transport is invalid.
  [[nodiscard]] std::int64_t generation() const { return generation_; }
  [[nodiscard]] Transport& transport() const { return *state_.transports[0]; }
  [[nodiscard]] JobState& state() const { return state_; }

  /// Adds a call in flight.
  void add(std::shared_ptr<DirectRun> run);
  [[nodiscard]] bool idle() const { return queues_.empty(); }
  [[nodiscard]] bool has(const CallGroup& group) const;
  /// Makes progress with the first calls of all queues. The cost does not depend on the number of calls behind them.
  void progress();
  /// Returns when `run`, which is in flight, is done. Errors as Collectives; they end the job.
  void wait(DirectRun& run);
  /// Makes progress with all calls; true if `run` is done. Errors as wait(): tests without progress count as a wait.
  [[nodiscard]] bool test(DirectRun& run);
  /// Waits for `run`, which is not in a queue, while no other call is in flight. Errors as wait().
  template <class Run>
  void wait_alone(Run& run) {
    guarded([&] {
      const int spins = state_.crowded ? kFewSpins : kSpins;
      for (int turn = 1; turn <= spins; ++turn) {
        if (move(run)) return;
        if (turn % kPauseEvery == 0) spin_pause();
      }
      wait_longer([&] { return move(run); }, [&]() -> const DirectRun& { return run; });
    });
  }
  /// Returns f(). An error in it ends the job.
  template <class F>
  auto guarded(F f);

  /// Destroys a group that has no handle any more, unless its calls are in flight.
  void drop(const CallGroup& group);

  /// All groups of the job except the group of all tasks, including unused groups with calls in flight.
  std::vector<std::unique_ptr<CallGroup>> groups;

 private:
  /// The number of polls before a wait sleeps: about 50 µs; kFewSpins if threads outnumber cores.
  static constexpr int kSpins = 1000, kFewSpins = 16, kPauseEvery = 8;

  using QueueKey = std::pair<int, std::uint64_t>;           // the group's id, and DirectRun::Queue::number
  using RunQueue = std::deque<std::shared_ptr<DirectRun>>;  // in the order of their starts

  void advance(RunQueue& queue);
  [[nodiscard]] Error located(const AbsentError& error, const DirectRun& run) const;
  template <class Run>
  [[nodiscard]] bool move(Run& run) const {
    try {
      return run.progress();
    } catch (const AbsentError& error) {
      throw located(error, run);
    }
  }
  [[nodiscard]] bool look_for_moves();
  void require_in_flight(const DirectRun& run);
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] Position* position() const;
  [[nodiscard]] Error stalled(const DirectRun& oldest) const;
  void wait_longer(const std::function<bool()>& ready, const std::function<const DirectRun&()>& oldest);
  [[nodiscard]] const DirectRun& oldest_of(const CallGroup& group) const;
  [[noreturn]] void fail(const Error& error);

  JobState& state_;
  std::map<QueueKey, RunQueue> queues_;  // no queue is empty
  const Transport* used_ = nullptr;      // the transport of this generation
  std::int64_t generation_ = 0;
  std::uint64_t started_ = 0, moved_ = 0;  // number of added runs; moved() at the last look_for_moves()
};

template <class F>
auto DirectJob::guarded(F f) {
  const DefaultFloats floats;  // floating-point modes for folds
  try {
    const Position::Phase works(position(), true);
    return f();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::bad_alloc&) {
    fail(Error(Code::resource, "out of memory in a direct call"));
  }
}

}  // namespace ferry
