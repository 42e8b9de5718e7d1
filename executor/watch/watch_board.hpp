// WatchBoard: the data that the watch's thread and the tasks of its process share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/system/clock.hpp"
#include "base/system/monitor.hpp"
#include "comm/transport.hpp"
#include "executor/watch/verdict.hpp"

namespace ferry {

/// A clock of the time that counts against the job. It stops while a task computes or makes progress. After a verdict
/// it jumps far ahead, so that all deadlines have passed. The deadlines of the job use this clock. Thread-safe.
class JobClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() override {
    return system_clock().now() - excluded_time() +
           (over_.load(std::memory_order_relaxed) ? kForever : Duration::zero());
  }
  /// The total time for which the clock has stopped.
  [[nodiscard]] Duration excluded_time() const { return Duration(excluded_time_.load(std::memory_order_relaxed)); }
  void exclude_time(Duration time) { excluded_time_.fetch_add(time.count(), std::memory_order_relaxed); }
  void set_over(bool over) { over_.store(over, std::memory_order_relaxed); }

 private:
  static constexpr std::chrono::hours kForever{24 * 365 * 10};
  std::atomic<std::int64_t> excluded_time_{0};
  std::atomic<bool> over_{false};
};

/// A process has one. It keeps the first verdict that it gets. While tasks are spared (JobMembership::spare), the loss
/// of a spared task is no verdict: the watch reports it to the transport. Thread-safe.
class WatchBoard {
 public:
  explicit WatchBoard(std::size_t tasks) : spared_(tasks), lost_(tasks) {}

  [[nodiscard]] JobClock& clock() { return clock_; }

  /// `generation`: the generation of the process that sent the verdict, if another process did.
  void adopt(const JobVerdict& verdict, std::optional<std::int64_t> generation = {});
  [[nodiscard]] std::optional<JobVerdict> verdict() const;
  /// Whether there is a verdict. Costs a load.
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// Waits until there is a verdict, for no longer than `at_most`; returns whether there is one.
  [[nodiscard]] bool over_within(Duration at_most) const;
  /// The verdict that a task of this process has found. The watch makes it a verdict unless another process does so
  /// first.
  void set_found(const JobVerdict& verdict);
  [[nodiscard]] std::optional<JobVerdict> found() const;
  /// Removes the verdict when the job starts again.
  void reset();
  /// How often the job has started again. Verdicts of earlier generations do not count.
  [[nodiscard]] std::int64_t generation() const;

  /// Sets the states of all tasks, in order, at the last beat.
  void set_statuses(std::vector<TaskStatus> tasks);
  [[nodiscard]] std::vector<TaskStatus> statuses() const;

  /// Sets the tasks that the job can continue without, in place of earlier ones.
  void spare(std::span<const int> tasks);
  [[nodiscard]] bool is_spared(int task) const;
  /// Adds the loss of a spared task. take_losses() returns it once.
  void add_loss(const Losses::Loss& loss);
  [[nodiscard]] std::vector<Losses::Loss> take_losses();
  /// Sets that the transport continues without the task.
  void set_lost(int task);
  /// By task: whether the transport continues without it.
  [[nodiscard]] std::vector<bool> lost() const;

 private:
  JobClock clock_;
  std::atomic<bool> over_{false}, any_losses_{false};
  mutable Monitor monitor_;  // guards the fields below; wakes the threads that wait for the verdict
  std::optional<JobVerdict> found_, verdict_;
  std::int64_t generation_ = 0;
  std::vector<TaskStatus> statuses_;
  std::vector<bool> spared_, lost_;
  std::vector<Losses::Loss> losses_;  // found in this process, and not yet taken
};

}  // namespace ferry
