// Distance: whether two cores share a third-level cache.
#pragma once

#include <algorithm>
#include <chrono>

namespace ferry {

/// Whether another task's core is far, measured by the time to read a cache line that the other core has written. The
/// time, including the clock, is 30 to 60 ns if both share a third-level cache, and about 200 ns if they do not (Zen 4
/// and Zen 5). ferry measures instead of asking the system, because a virtual machine's cores may move while it runs.
class Distance {
 public:
  /// Counts one measured line. Single outliers, such as a line held up by an interrupt, are outvoted.
  void took(std::chrono::nanoseconds time) { votes_ = std::clamp(votes_ + (time > kBetween ? 1 : -1), 0, 2 * kFar); }
  /// True until a line has been measured.
  [[nodiscard]] bool far() const { return votes_ >= kFar; }

 private:
  static constexpr std::chrono::nanoseconds kBetween{100};
  static constexpr int kFar = 2;
  int votes_ = kFar;
};

}  // namespace ferry
