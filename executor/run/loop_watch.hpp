// LoopWatch: decides when a loop without waits should check whether it must end early.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/system/clock.hpp"

namespace ferry {

/// One per thread, for all its loops. Most iterations only count down to the next check, which reads the clock. The
/// number of iterations between two checks adapts, up to kMostIterations, so that a check comes about every
/// kClockPeriod.
class LoopWatch {
 public:
  /// Call it when the outermost loop begins.
  void begin() { began_ = system_clock().now(); }
  /// Call it after each iteration. Returns whether to call check().
  [[nodiscard]] bool due() { return --until_ <= 0; }
  /// Reads the clock. Returns whether the caller should also check the state of the job (every kJobPeriod).
  [[nodiscard]] bool check() {
    const TimePoint now = system_clock().now();
    every_ = now - checked_ < kClockPeriod ? std::min(2 * every_, kMostIterations) : std::max(every_ / 2, 1);
    until_ = every_;
    checked_ = now;
    if (now - checked_job_ < kJobPeriod) return false;
    checked_job_ = now;
    return true;
  }
  /// The time from begin() to the last check().
  [[nodiscard]] Duration since() const { return checked_ - began_; }

 private:
  static constexpr std::int32_t kMostIterations = 256;
  static constexpr std::chrono::microseconds kClockPeriod{500};
  static constexpr std::chrono::milliseconds kJobPeriod{10};

  std::int32_t every_ = 1, until_ = 1;
  TimePoint began_, checked_, checked_job_;
};

}  // namespace ferry
