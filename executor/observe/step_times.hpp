// StepTimes: the durations of the steps of a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferry {

/// Collects the seconds of each step: their count, minimum, median and maximum. The first kKept values are kept for the
/// median; in a longer run only every second, fourth, eighth … value is kept, so that memory does not grow with the
/// run.
class StepTimes {
 public:
  static constexpr std::size_t kKept = 8192;  ///< even

  StepTimes() { kept_.reserve(kKept); }

  void add(double seconds) {
    least_ = count_ == 0 ? seconds : std::min(least_, seconds);
    most_ = count_ == 0 ? seconds : std::max(most_, seconds);
    if (count_++ % stride_ != 0) return;
    if (kept_.size() == kKept) halve();
    kept_.push_back(seconds);
  }
  void clear() {
    kept_.clear();
    count_ = 0;
    stride_ = 1;
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }
  /// Precondition: there is a step.
  [[nodiscard]] double median() const {
    std::vector<double> sorted = kept_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

 private:
  /// Drops every second value. Since kKept is even, the step being added also fits the doubled stride.
  void halve() {
    for (std::size_t i = 1; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
    kept_.resize(kKept / 2);
    stride_ *= 2;
  }

  std::vector<double> kept_;
  std::int64_t count_ = 0, stride_ = 1;
  double least_ = 0, most_ = 0;
};

}  // namespace ferry
