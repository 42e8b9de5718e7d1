// Distance: whether two cores share a cache.
#pragma once

#include <algorithm>
#include <chrono>

namespace ferry {

/// Whether another task's core is far, told by how long a line takes to get here that it has written: 30 to 60 ns, with
/// the clock's own time, where both share a third cache; about 200 where they do not (Zen 4 and Zen 5). Not asked of
/// the system, since virtual machines move from one to the other as they run.
class Distance {
 public:
  /// A line took so long. A few that were held up, by an interrupt say, change nothing.
  void took(std::chrono::nanoseconds time) { votes_ = std::clamp(votes_ + (time > kBetween ? 1 : -1), 0, 2 * kFar); }
  /// True until the first has come.
  [[nodiscard]] bool far() const { return votes_ >= kFar; }

 private:
  static constexpr std::chrono::nanoseconds kBetween{100};
  static constexpr int kFar = 2;
  int votes_ = kFar;
};

}  // namespace ferry
