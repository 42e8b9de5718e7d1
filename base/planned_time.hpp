// Planned times: whole picoseconds that do not overflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#pragma GCC visibility push(default)
namespace ferry {

/// The longest planned time, 46 days. A longer time counts as this. The sum of two planned times fits an integer.
inline constexpr std::int64_t kLongestPlannedTime = 4'000'000'000'000'000'000;

/// Rounds a time in picoseconds.
[[nodiscard]] inline std::int64_t rounded_time(double picoseconds) {
  return std::llround(std::min(picoseconds, static_cast<double>(kLongestPlannedTime)));
}

/// The sum of two times.
[[nodiscard]] constexpr std::int64_t add_times(std::int64_t a, std::int64_t b) {
  return std::min(a + b, kLongestPlannedTime);
}

/// The time of `often` runs of `time` each.
[[nodiscard]] constexpr std::int64_t repeat_time(std::int64_t time, std::int64_t often) {
  return time > 0 && often > kLongestPlannedTime / time ? kLongestPlannedTime : time * often;
}

}  // namespace ferry
#pragma GCC visibility pop
