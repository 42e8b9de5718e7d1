// LoopWatch: when a loop that waits for nothing looks whether it is to go on.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/system/clock.hpp"

namespace ferry {

/// Of one thread, for all its loops. An iteration costs a count; every so many of them, at most kMostIterations, is a
/// look, so that about one comes in kLookUp.
class LoopWatch {
 public:
  /// The outermost loop begins.
  void begin() { began_ = system_clock().now(); }
  /// After an iteration: whether to look.
  [[nodiscard]] bool due() { return --until_ <= 0; }
  /// A look. Whether it is time to look at what the rest of the job does, too.
  [[nodiscard]] bool look() {
    const TimePoint now = system_clock().now();
    every_ = now - looked_ < kLookUp ? std::min(2 * every_, kMostIterations) : std::max(every_ / 2, 1);
    until_ = every_;
    looked_ = now;
    if (now - looked_around_ < kLookAround) return false;
    looked_around_ = now;
    return true;
  }
  /// From begin() to the last look.
  [[nodiscard]] Duration since() const { return looked_ - began_; }

 private:
  static constexpr std::int32_t kMostIterations = 256;
  static constexpr std::chrono::microseconds kLookUp{500};
  static constexpr std::chrono::milliseconds kLookAround{10};

  std::int32_t every_ = 1, until_ = 1;
  TimePoint began_, looked_, looked_around_;
};

}  // namespace ferry
