// WatchBoard: what the watch's thread and the tasks of its process tell each other.
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

/// Time that counts against the job: it stops while some task computes or makes progress, and runs out at once when
/// there is a verdict. Deadlines of the job are measured with it. Thread-safe.
class JobClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() override {
    return system_clock().now() - excused() + (over_.load(std::memory_order_relaxed) ? kForever : Duration::zero());
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

/// One per process. The first verdict that it is given stays. While tasks are spared (JobMembership::spare), the loss
/// of one of them is no verdict: the watch reports it to the transport. Thread-safe.
class WatchBoard {
 public:
  explicit WatchBoard(std::size_t tasks) : spared_(tasks), lost_(tasks) {}

  [[nodiscard]] JobClock& clock() { return clock_; }

  /// `generation`: of the process that says so, if that is another one.
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
  /// Forgets the verdict, for a job that starts again.
  void reset();
  /// How often the job has started again. Verdicts of earlier starts do not count.
  [[nodiscard]] std::int64_t generation() const;

  /// How all tasks stand, in order, as of the last beat.
  void set_seen(std::vector<Sighting> tasks);
  [[nodiscard]] std::vector<Sighting> seen() const;

  /// The tasks without which the job can go on, in place of earlier ones.
  void spare(std::span<const int> tasks);
  [[nodiscard]] bool is_spared(int task) const;
  /// Notes the loss of a spared task, to be told once.
  void add_loss(const Losses::Loss& loss);
  [[nodiscard]] std::vector<Losses::Loss> take_losses();
  /// The transport continues without the task.
  void set_lost(int task);
  /// By task.
  [[nodiscard]] std::vector<bool> lost() const;

 private:
  JobClock clock_;
  std::atomic<bool> over_{false}, any_losses_{false};
  mutable Monitor monitor_;  // guards what follows; wakes those that wait for the verdict
  std::optional<JobVerdict> found_, verdict_;
  std::int64_t generation_ = 0;
  std::vector<Sighting> seen_;
  std::vector<bool> spared_, lost_;
  std::vector<Losses::Loss> losses_;  // found here, not told yet
};

}  // namespace ferry
