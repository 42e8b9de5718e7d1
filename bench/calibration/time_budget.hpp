// TimeBudget: divides a time between measurements.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/system/clock.hpp"

namespace ferry::bench {

/// Each measurement gets an equal part of the time that is left. So a measurement that takes longer than its part
/// shortens the later ones.
class TimeBudget {
 public:
  /// `seconds` seconds for about `measurements` measurements. The clock must outlive it.
  TimeBudget(Clock& clock, double seconds, int measurements)
      : deadline_(clock, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))),
        measurements_(measurements) {}

  /// The seconds for the next measurement, at least 0.
  [[nodiscard]] double next() {
    const double part = std::chrono::duration<double>(deadline_.remaining()).count() / measurements_;
    measurements_ = std::max(1, measurements_ - 1);
    return part;
  }

 private:
  Deadline deadline_;
  int measurements_;
};

}  // namespace ferry::bench
