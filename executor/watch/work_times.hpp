// WorkTimes: how long a task computes and waits in a step of its plan, and the traffic of its links. A task sends it to
// the process of task 0.
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

/// The middle value, or the upper of the two middle ones. Precondition: `values` is not empty.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A median, the median distance of the values from it, and the median's standard error.
struct Spread {
  double median = 0, distance = 0, error = 0;
};
/// The error of the median of `count` values, if they are normally distributed. Then a standard deviation is 1.4826
/// distances, and the error of a median is 1.2533 times the error of a mean.
[[nodiscard]] inline double error_of_median(double distance, std::size_t count) {
  return 1.4826 * 1.2533 * distance / std::sqrt(static_cast<double>(count));
}
/// Precondition: `values` is not empty.
[[nodiscard]] inline Spread spread_of(std::vector<double> values) {
  const double median = median_of(values);
  for (double& value : values) value = std::abs(value - median);
  const std::size_t count = values.size();
  const double distance = median_of(std::move(values));
  return {median, distance, error_of_median(distance, count)};
}

/// The interval between a task's reports and between comparisons, as a function of the time measured so far. A task
/// that is slow from the beginning is found soon. A task that becomes slow later must stay slow for longer.
[[nodiscard]] inline Duration report_interval(Duration measured) {
  return std::clamp<Duration>(measured / 15, std::chrono::milliseconds(50), std::chrono::milliseconds(500));
}

/// Times are in seconds. They are medians over `samples` samples; a sample is the mean over consecutive steps that take
/// kSample or more together.
struct WorkTimes {
  /// The time of the instructions with the same op, user's line and sizes.
  struct Work {
    std::uint64_t key = 0;  ///< equal on tasks with the same work
    std::string op{};       ///< "MatMul at model.cpp:40"
    double runs = 0;        ///< the number of runs in a step
    Spread wall, cpu;       ///< the time of a run: wall time, and CPU time of the thread
  };
  std::uint64_t plan = 0;    ///< the plan's fingerprint
  std::int64_t samples = 0;  ///< the number of samples since the beginning
  bool crowded = false;      ///< whether its host has more threads of the job than cores
  double step = 0;           ///< the time of a step
  double waiting = 0;        ///< the time that a step waits for other tasks
  std::vector<Work> busiest{};
  std::vector<LinkUse> links{};  ///< the recent traffic of the task's links

  [[nodiscard]] double computing() const { return step - waiting; }
};

void add(const WorkTimes& times, BlobWriter& to);
/// Throws the errors of BlobReader.
[[nodiscard]] WorkTimes read_work_times(BlobReader& from);

}  // namespace ferry
