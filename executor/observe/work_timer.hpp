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

/// One per task and plan. Only some steps are timed, so that the clocks that these read take half a percent of the time
/// at most; in the others it costs a comparison. The walkers call add() at once, everything else is for the task's
/// thread.
class WorkTimer {
 public:
  /// The clocks before an instruction.
  struct Reading {
    TimePoint wall;
    double cpu = 0;  ///< seconds of this thread
    [[nodiscard]] static Reading now();
  };

  /// `plan_id` is the same for that plan on all tasks. The plan must live as long.
  WorkTimer(const Plan& plan, int task, std::uint64_t plan_id, bool crowded);

  /// Decides whether the step that begins now is timed.
  void begin_step(TimePoint now) { timed_ = now >= next_ && begun_++ >= kNotCounted; }
  [[nodiscard]] bool timed() const { return timed_; }
  /// Whether this thread is to call add(): not in a step that has run many instructions, in a loop.
  [[nodiscard]] bool reads(std::size_t thread) const { return timed_ && walkers_[thread].readings < limit_; }
  /// `thread` has run the instruction, in a timed step.
  void add(std::size_t thread, const Instruction& instruction, const Reading& before);
  /// To be called after a timed step; true when there is something new to tell, at most every tell_interval().
  [[nodiscard]] bool end_step(TimePoint begin, TimePoint end);
  /// `links`: what the task's links carried lately.
  [[nodiscard]] WorkTimes times(std::vector<LinkUse> links = {}) const;

 private:
  /// A sample is the mean over at least so long, so that it has its part of what a thread loses to others on its core.
  /// It is the period of Linux's quotas: a cgroup that has used up its own stands still until the next one.
  static constexpr std::chrono::milliseconds kSample{100};
  static constexpr std::size_t kKept = 32, kTold = 8;
  /// For each instruction that was timed, which took half a microsecond, no step is timed until so long after the
  /// step's begin.
  static constexpr std::chrono::microseconds kPause{100};
  /// If loops run this many more instructions than the plan has, the rest of the step and all later steps are not
  /// timed.
  static constexpr std::int64_t kMostInLoops = 4096;
  /// The first steps touch memory and fill caches.
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
  std::vector<Kind> kinds_;             // the entry of kWaits has only `wall`, for a step
  std::vector<Walker> walkers_;
  const std::int64_t limit_;
  Ring steps_;
  std::int64_t samples_ = 0;
  std::int64_t steps_in_sample_ = 0;
  double seconds_in_sample_ = 0;
  TimePoint measured_since_, sample_begin_, told_, next_;
  int begun_ = 0;
  bool timed_ = false;
};

}  // namespace ferry
