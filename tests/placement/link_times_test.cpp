#include <doctest/doctest.h>

#include "base/planned_time.hpp"
#include "placement/layout/conversion.hpp"

namespace ferry {
namespace {

TEST_CASE("the time of a link is rounded for all bytes together") {
  CHECK(moving_picoseconds({0, 8e9}, 1000) == 125'000);
  CHECK(moving_picoseconds({0, 450e9}, 1'000'000) == 2'222'222);
  CHECK(moving_picoseconds({0, 3e12}, 3'000'000) == 1'000'000);  // a third of a picosecond for a byte
  CHECK(moving_picoseconds({0, 1e3}, 1'000'000) == 1'000'000'000'000'000);
  CHECK(latency_picoseconds({1.5e-6, 1e9}) == 1'500'000);
}

TEST_CASE("planned times that are too long count as the longest time") {
  CHECK(moving_picoseconds({0, 1e3}, std::int64_t{1} << 30) == 1'073'741'824'000'000'000);
  CHECK(moving_picoseconds({0, 1e3}, std::int64_t{1} << 60) == kLongestPlannedTime);
  CHECK(add_times(kLongestPlannedTime, kLongestPlannedTime) == kLongestPlannedTime);
  CHECK(repeat_time(1'000'000'000'000, 10'000'000'000) == kLongestPlannedTime);
  CHECK(repeat_time(3, 5) == 15);
  CHECK(repeat_time(0, kLongestPlannedTime) == 0);
}

}  // namespace
}  // namespace ferry
