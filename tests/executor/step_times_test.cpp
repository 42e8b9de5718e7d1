#include "executor/observe/step_times.hpp"

#include <doctest/doctest.h>

namespace ferry {
namespace {

/// `count` steps, of 1, 2, … seconds.
StepTimes steps(std::size_t count) {
  StepTimes times;
  for (std::size_t i = 1; i <= count; ++i) times.add(static_cast<double>(i));
  return times;
}

TEST_CASE("times of steps are exact while all are kept") {
  StepTimes times = steps(StepTimes::kKept);
  CHECK(times.count() == StepTimes::kKept);
  CHECK(times.least() == 1);
  CHECK(times.median() == StepTimes::kKept / 2 + 1);
  CHECK(times.most() == StepTimes::kKept);
  times.clear();
  times.add(7);
  CHECK(times.count() == 1);
  CHECK(times.least() == 7);
  CHECK(times.median() == 7);
  CHECK(times.most() == 7);
}

TEST_CASE("times of many steps keep the least and the most, and a median of some of them") {
  for (const std::size_t count : {StepTimes::kKept + 1, 3 * StepTimes::kKept, std::size_t{1000001}}) {
    CAPTURE(count);
    const StepTimes times = steps(count);
    CHECK(times.count() == count);
    CHECK(times.least() == 1);
    CHECK(times.most() == count);
    // Each time that is kept stands for the same number of steps, except the last.
    const auto stride = static_cast<double>(2 * (count / StepTimes::kKept + 1));
    CHECK(times.median() > static_cast<double>(count) / 2 - stride);
    CHECK(times.median() < static_cast<double>(count) / 2 + stride);
  }
}

}  // namespace
}  // namespace ferry
