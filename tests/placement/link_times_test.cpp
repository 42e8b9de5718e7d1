#include <doctest/doctest.h>

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

}  // namespace
}  // namespace ferry
