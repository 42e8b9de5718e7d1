// WorkTimes: how long a task computes and waits in a step of its plan, and what its links carry, as it tells the
// others.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/blob.hpp"
#include "base/system/clock.hpp"
#include "executor/watch/link_meter.hpp"

namespace ferry {

/// The middle one; of an even number the upper. Precondition: there is one.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A median, how far values lie from it (the median of their distances), and the median's standard error.
struct Spread {
  double median = 0, distance = 0, error = 0;
};
/// The error of the median of `count` values, if they are normally distributed. Then a standard deviation is 1.4826
/// distances, and the error of a median is 1.2533 times the error of a mean.
[[nodiscard]] inline double error_of_median(double distance, std::size_t count) {
  return 1.4826 * 1.2533 * distance / std::sqrt(static_cast<double>(count));
}
/// Precondition: there is a value.
[[nodiscard]] inline Spread spread_of(std::vector<double> values) {
  const double median = median_of(values);
  for (double& value : values) value = std::abs(value - median);
  const std::size_t count = values.size();
  const double distance = median_of(std::move(values));
  return {median, distance, error_of_median(distance, count)};
}

/// The interval between a task's reports and between comparisons, as a function of the time measured so far. A task
/// that is slow from the beginning is found soon. A task that becomes slow later must stay slow for longer.
[[nodiscard]] inline Duration tell_interval(Duration measured) {
  return std::clamp<Duration>(measured / 15, std::chrono::milliseconds(50), std::chrono::milliseconds(500));
}

/// Times are in seconds; medians over `samples` samples, each the mean over steps of kSample or more together.
struct WorkTimes {
  /// What instructions of one op, user's line and sizes take.
  struct Work {
    std::uint64_t key = 0;  ///< equal on tasks that do the same
    std::string op{};       ///< "MatMul at model.cpp:40"
    double runs = 0;        ///< in a step
    Spread wall, cpu;       ///< of a run: by the clock, and of its thread
  };
  std::uint64_t plan = 0;    ///< the plan's fingerprint
  std::int64_t samples = 0;  ///< since the beginning
  bool crowded = false;      ///< its host has more threads of the job than cores
  double step = 0;           ///< of a step
  double waiting = 0;        ///< for other tasks, in a step
  std::vector<Work> busiest{};
  std::vector<LinkUse> links{};  ///< lately

  [[nodiscard]] double computing() const { return step - waiting; }
};

void add(const WorkTimes& times, BlobWriter& to);
/// Errors as BlobReader.
[[nodiscard]] WorkTimes read_work_times(BlobReader& from);

}  // namespace ferry
