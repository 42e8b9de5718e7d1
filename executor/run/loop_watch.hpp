// LoopWatch: tells a loop when to check whether it must stop. A loop may run long without waiting for anything.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/system/clock.hpp"

namespace ferry {

/// One for all loops of a thread. Most iterations only count down; one in every_ is a look, which reads the clock.
/// every_ is adapted so that there is about one look in each kLookUp, and is at most kMostIterations.
class LoopWatch {
 public:
  /// To be called when an outermost loop begins.
  void begin() { began_ = system_clock().now(); }
  /// To be called after each iteration: whether to look now.
  [[nodiscard]] bool due() { return --until_ <= 0; }
  /// Takes a look: reads the clock. True, at most once in kLookAround, when the caller should also see what the rest of
  /// the job does.
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
