// The time that calibration takes.
#include <doctest/doctest.h>

#include "bench/calibration/time_budget.hpp"
#include "bench/graphs/one_task.hpp"
#include "tests/support/manual_clock.hpp"

namespace ferry::bench {
namespace {

using std::chrono::milliseconds;

double seconds_since(TimePoint begin, Clock& clock) {
  return std::chrono::duration<double>(clock.now() - begin).count();
}

TEST_CASE("a measurement that takes longer than its part shortens the later ones") {
  test::ManualClock clock;
  TimeBudget budget(clock, 10, 5);
  CHECK(budget.next() == 2);
  clock.advance(milliseconds(6000));
  CHECK(budget.next() == 1);
  clock.advance(milliseconds(1000));
  CHECK(budget.next() == 1);
  clock.advance(milliseconds(5000));
  CHECK(budget.next() == 0);
  CHECK(budget.next() == 0);
  CHECK(budget.next() == 0);  // there are more measurements than expected
}

TEST_CASE("steps are measured for the given time although most steps take much longer than the shortest") {
  test::ManualClock clock;
  const TimePoint begin = clock.now();
  std::int64_t runs = 0;
  const double least = shortest_within(clock, 2, {[&](std::int64_t steps) {
                                         clock.advance(milliseconds(10) * (steps + 1));
                                         return ++runs == 2 ? 1e-6 : 1e-5;
                                       }});
  CHECK(least == 1e-6);
  CHECK(seconds_since(begin, clock) > 1.9);
  CHECK(seconds_since(begin, clock) <= 2);
}

TEST_CASE("a slow first step, which plans, does not end the measurement") {
  test::ManualClock clock;
  const TimePoint begin = clock.now();
  std::int64_t measured = 0;
  static_cast<void>(shortest_within(clock, 1, {[&](std::int64_t steps) {
                                      if (measured == 0) clock.advance(milliseconds(500));
                                      clock.advance(std::chrono::microseconds(100) * (steps + 1));
                                      measured += steps;
                                      return 1e-4;
                                    }}));
  CHECK(measured > 4000);
  CHECK(seconds_since(begin, clock) <= 1);
}

TEST_CASE("two steps are measured if there is no time, or if the time of a step is longer") {
  for (const double seconds : {0.0, 1.0}) {
    test::ManualClock clock;
    std::int64_t measured = 0;
    static_cast<void>(shortest_within(clock, seconds, {[&](std::int64_t steps) {
                                        clock.advance(milliseconds(400) * (steps + 1));
                                        measured += steps;
                                        return 0.4;
                                      }}));
    CHECK(measured == 2);
  }
}

TEST_CASE("all processes measure as many steps as the slowest one allows") {
  test::ManualClock clock;
  std::int64_t measured = 0;
  static_cast<void>(shortest_within(clock, 1,
                                    {[&](std::int64_t steps) {
                                       clock.advance(milliseconds(1) * (steps + 1));
                                       measured += steps;
                                       return 1e-3;
                                     },
                                     [](double own) { return 10 * own; }}));
  CHECK(measured < 100);
  CHECK(measured > 90);
}

}  // namespace
}  // namespace ferry::bench
