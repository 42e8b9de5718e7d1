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
#include "executor/job/cluster_state.hpp"
#include "executor/watch/position.hpp"

namespace ferry {

class DirectGroup;

/// One call. DirectJob begins it and moves it on.
class DirectRun {
 public:
  DirectRun(const DirectGroup& group, const source_location& at) : group_(group), at_(at) {}
  virtual ~DirectRun() = default;
  DirectRun(const DirectRun&) = delete;
  DirectRun& operator=(const DirectRun&) = delete;

  /// Goes as far as it can; true when this task's part is done. Called only once the run is among the first of its
  /// queue.
  [[nodiscard]] virtual bool progress() = 0;
  /// The call and its wait in words, for people and for the watch.
  [[nodiscard]] virtual Awaited awaited() const = 0;
  /// Runs of the same queue of a group go one after another, the first `at_once` of them together.
  struct Queue {
    std::uint64_t number = 0;
    std::size_t at_once = 1;
  };
  [[nodiscard]] virtual Queue queue() const = 0;

  [[nodiscard]] const DirectGroup& group() const { return group_; }
  /// The caller's line, its file shortened to what a message has room for.
  [[nodiscard]] std::string line() const;
  [[nodiscard]] bool done() const { return done_; }
  void set_done() { done_ = true; }

 private:
  friend class DirectJob;
  const DirectGroup& group_;
  const source_location at_;
  bool done_ = false;
  std::int64_t generation_ = 0;  // of the job, while the run is in flight
  std::uint64_t number_ = 0;     // of the runs that were in flight, in the order of their starts
  // Of a run that is tested: when it was first, by the job's clock and by the system's, and last reported.
  std::optional<TimePoint> tested_;
  TimePoint tested_at_, reported_at_;
};

/// The direct calls of a process, which has one task. Used from the thread that made the Cluster.
class DirectJob {
 public:
  explicit DirectJob(Cluster::State& state) : state_(state) {}

  /// Error(usage) on another thread, or in a process with several tasks; what the job failed with, if it has failed.
  void require_usable();
  /// The number of the transport: a call prepared with an earlier one is void.
  [[nodiscard]] std::int64_t generation() const { return generation_; }
  [[nodiscard]] Transport& transport() const { return *state_.transports[0]; }
  [[nodiscard]] Cluster::State& state() const { return state_; }

  /// Adds a call in flight.
  void add(std::shared_ptr<DirectRun> run);
  [[nodiscard]] bool idle() const { return queues_.empty(); }
  [[nodiscard]] bool has(const DirectGroup& group) const;
  /// Moves the first calls of all queues on. The cost does not depend on the number of the calls behind them.
  void progress();
  /// Returns when `run`, which is in flight, is done. Errors as Collectives; they end the job.
  void wait(DirectRun& run);
  /// Moves all calls on; whether `run` is done. Errors as wait(): tests in vain are a wait.
  [[nodiscard]] bool test(DirectRun& run);
  /// Moves `run` on as long as nothing else is in flight; returns when it is done. Errors as wait().
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

  /// Ends a group that nobody refers to any more, except while its calls are in flight.
  void drop(const DirectGroup& group);

  /// All groups of the job except the group of all tasks, including unused groups with calls in flight.
  std::vector<std::unique_ptr<DirectGroup>> groups;

 private:
  /// Turns of waiting without sleep: some 50 µs; few where threads outnumber cores.
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
  [[nodiscard]] const DirectRun& oldest_of(const DirectGroup& group) const;
  [[noreturn]] void fail(const Error& error);

  Cluster::State& state_;
  std::map<QueueKey, RunQueue> queues_;  // none is empty
  const Transport* used_ = nullptr;      // the transport of this generation
  std::int64_t generation_ = 0;
  std::uint64_t started_ = 0, moved_ = 0;  // runs that were in flight; Transport::moved() as of the last look
};

template <class F>
auto DirectJob::guarded(F f) {
  const DefaultFloats floats;  // for folds
  try {
    const Position::Part works(position(), true);
    return f();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::bad_alloc&) {
    fail(Error(Code::resource, "out of memory in a direct call"));
  }
}

}  // namespace ferry
