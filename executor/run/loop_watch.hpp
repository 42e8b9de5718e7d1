// LoopWatch: decides when a loop without waits should check whether it must end early.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/system/clock.hpp"

namespace ferry {

/// One per thread, for all its loops. Most iterations only count down to the next look, which reads the clock. The
/// number of iterations between two looks adapts, up to kMostIterations, so that a look comes about every kLookUp.
class LoopWatch {
 public:
  /// Call it when the outermost loop begins.
  void begin() { began_ = system_clock().now(); }
  /// Call it after each iteration. Returns whether to call look().
  [[nodiscard]] bool due() { return --until_ <= 0; }
  /// Reads the clock. Returns whether it is also time to look at the rest of the job (every kLookAround).
  [[nodiscard]] bool look() {
    const TimePoint now = system_clock().now();
    every_ = now - looked_ < kLookUp ? std::min(2 * every_, kMostIterations) : std::max(every_ / 2, 1);
    until_ = every_;
    looked_ = now;
    if (now - looked_around_ < kLookAround) return false;
    looked_around_ = now;
    return true;
  }
  /// The time from begin() to the last look().
  [[nodiscard]] Duration since() const { return looked_ - began_; }

 private:
  static constexpr std::int32_t kMostIterations = 256;
  static constexpr std::chrono::microseconds kLookUp{500};
  static constexpr std::chrono::milliseconds kLookAround{10};

  std::int32_t every_ = 1, until_ = 1;
  TimePoint began_, looked_, looked_around_;
};

}  // namespace ferry
