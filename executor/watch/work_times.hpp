// WorkTimes: how long a task computes and waits in a step of its plan, and what its links carry, as it tells the
// others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/blob.hpp"
#include "executor/watch/link_meter.hpp"

namespace ferry {

/// The middle one; of an even number the upper. Precondition: there is one.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A median and how far values lie from it: the median of their distances.
struct Spread {
  double median = 0, distance = 0;
};
/// Precondition: there is a value.
[[nodiscard]] inline Spread spread_of(std::vector<double> values) {
  const double median = median_of(values);
  for (double& value : values) value = std::abs(value - median);
  return {median, median_of(std::move(values))};
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
