#include "runner/launch/restart_waits.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ferry {
namespace {

using std::chrono::minutes, std::chrono::seconds;

std::vector<Duration> of(RestartWaits waits, int count) {
  std::vector<Duration> all;
  for (int i = 0; i < count; ++i) all.push_back(waits.after(seconds(5)));
  return all;
}

TEST_CASE("waits before restarts double, up to a minute") {
  CHECK(of(RestartWaits(seconds(1)), 8) == std::vector<Duration>{seconds(1), seconds(2), seconds(4), seconds(8),
                                                                 seconds(16), seconds(32), seconds(60), seconds(60)});
  CHECK(of(RestartWaits(minutes(5)), 2) == std::vector<Duration>{minutes(5), minutes(5)});
}

TEST_CASE("waits begin anew after a job that ran well") {
  RestartWaits waits(seconds(1));
  for (int i = 0; i < 3; ++i) static_cast<void>(waits.after(minutes(9)));
  CHECK(waits.after(minutes(10)) == seconds(1));
  CHECK(waits.after(seconds(1)) == seconds(2));
}

}  // namespace
}  // namespace ferry
