// WorkTimer: measures what a task computes and how long it waits in a step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/system/clock.hpp"
#include "executor/watch/work_times.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// A task has one for each plan. It times only some steps, so that reading the clocks takes at most half a percent of
/// the time; in all other steps it costs a comparison for each instruction. All walkers call reads() and add(), each
/// for its own thread; only the task's thread calls the rest.
class WorkTimer {
 public:
  /// The clocks before an instruction.
  struct Reading {
    TimePoint wall;
    double cpu = 0;  ///< seconds of this thread
    [[nodiscard]] static Reading now();
  };

  /// `plan_id` is the same for that plan on all tasks. The plan must outlive this.
  WorkTimer(const Plan& plan, int task, std::uint64_t plan_id, bool crowded);

  /// Decides whether the step that begins now is timed.
  void begin_step(TimePoint now) { timed_ = now >= next_ && begun_++ >= kNotCounted; }
  [[nodiscard]] bool timed() const { return timed_; }
  /// Whether the thread must read the clocks and call add(). False in a step that is not timed, and once a timed step
  /// has run very many instructions in loops.
  [[nodiscard]] bool reads(std::size_t thread) const { return timed_ && walkers_[thread].readings < limit_; }
  /// Adds the time of an instruction that `thread` has run in a timed step.
  void add(std::size_t thread, const Instruction& instruction, const Reading& before);
  /// Call it after a timed step. Returns true if times() has new values to report, at most once in each
  /// report_interval().
  [[nodiscard]] bool end_step(TimePoint begin, TimePoint end);
  /// `links`: the recent traffic of the task's links.
  [[nodiscard]] WorkTimes times(std::vector<LinkUse> links = {}) const;

 private:
  /// The least length of a sample, which is a mean over steps. It is the period of Linux's CPU quotas: a cgroup that
  /// has used up its quota stops until the next period. So a sample has its share of the time that the thread loses to
  /// other threads on its core.
  static constexpr std::chrono::milliseconds kSample{100};
  /// The samples that a Ring keeps, and the kinds of instructions that times() lists.
  static constexpr std::size_t kKept = 32, kReportedKinds = 8;
  /// The pause for each timed instruction, counted from the begin of the step: until it has passed, no step is timed.
  /// Timing an instruction takes half a microsecond.
  static constexpr std::chrono::microseconds kPause{100};
  /// If loops run this many more instructions than the plan has, the rest of the step and all later steps are not
  /// timed.
  static constexpr std::int64_t kMostInLoops = 4096;
  /// The number of first steps that are not timed, because they touch memory and fill caches.
  static constexpr int kNotCounted = 2;

  /// The newest values.
  class Ring {
   public:
    void add(double value) { kept_[count_++ % kKept] = value; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    /// Precondition: not empty.
    [[nodiscard]] Spread spread() const {
      return spread_of({kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kKept))});
    }

   private:
    std::array<double, kKept> kept_{};
    std::size_t count_ = 0;
  };
  struct Spent {
    std::int64_t runs = 0;
    double wall = 0, cpu = 0;
    void operator+=(const Spent& other) {
      runs += other.runs;
      wall += other.wall;
      cpu += other.cpu;
    }
  };
  /// Instructions that compute the same.
  struct Kind {
    std::uint64_t key = 0;
    const Instruction* first = nullptr;
    double total = 0;
    Ring runs, wall, cpu;
  };
  struct alignas(64) Walker {
    std::vector<Spent> spent;   ///< by kind, in the sample that is being made
    std::int64_t readings = 0;  ///< in this step
  };
  static constexpr std::uint32_t kNoKind = 0xffffffffU, kWaits = 0;

  void end_sample();

  const Plan& plan_;
  const PlanClass& role_;
  const std::uint64_t plan_id_;
  const bool crowded_;
  std::vector<std::uint32_t> kind_of_;  // by instruction; kWaits: it waits for other tasks
  std::vector<Kind> kinds_;             // the entry of kWaits has only `wall`: the waits of a step
  std::vector<Walker> walkers_;
  const std::int64_t limit_;
  Ring steps_;
  std::int64_t samples_ = 0;
  std::int64_t steps_in_sample_ = 0;
  double seconds_in_sample_ = 0;
  TimePoint measured_since_, sample_begin_, reported_, next_;
  int begun_ = 0;
  bool timed_ = false;
};

}  // namespace ferry
