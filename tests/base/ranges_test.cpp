#include "base/ranges.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ferry {
namespace {

TEST_CASE("runs of numbers are shortened") {
  CHECK(ranges(std::vector<int>{}) == "");
  CHECK(ranges(std::vector<int>{3}) == "3");
  CHECK(ranges(std::vector<int>{0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
}

}  // namespace
}  // namespace ferry
