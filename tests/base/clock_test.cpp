#include "base/system/clock.hpp"

#include <doctest/doctest.h>

#include "tests/support/manual_clock.hpp"

using namespace ferry;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("base/clock");

TEST_CASE("the system clock does not go back, and goes on") {
  const TimePoint start = system_clock().now();
  TimePoint last = start;
  while (last - start < 1ms) {
    const TimePoint next = system_clock().now();
    REQUIRE(next >= last);
    last = next;
  }
}

TEST_CASE("sleeping takes its time, with a manual clock none of ours") {
  const TimePoint start = system_clock().now();
  system_clock().sleep(1ms);
  CHECK(system_clock().now() - start >= 1ms);
  system_clock().sleep(-1h);
  test::ManualClock clock;
  const Deadline deadline(clock, 1h);
  clock.sleep(1h);
  CHECK(deadline.expired());
}

TEST_CASE("a deadline expires when its time has passed") {
  test::ManualClock clock;
  const Deadline deadline(clock, 10s);
  CHECK(deadline.remaining() == 10s);
  clock.advance(9s);
  CHECK_FALSE(deadline.expired());
  CHECK(deadline.remaining() == 1s);
  clock.advance(1s);
  CHECK(deadline.expired());
  clock.advance(1h);
  CHECK(deadline.remaining() == 0s);
}

TEST_CASE("a deadline of no time, or less, is over at once") {
  test::ManualClock clock;
  CHECK(Deadline(clock, 0s).expired());
  CHECK(Deadline(clock, -1h).expired());
  CHECK(Deadline(clock, Duration::min()).expired());
}

TEST_CASE("a deadline beyond the clock's range never comes") {
  test::ManualClock clock;
  const Deadline never = Deadline::never(clock);
  const Deadline far(clock, Duration::max() - 1ns);
  clock.advance(24h * 365 * 100);
  CHECK_FALSE(never.expired());
  CHECK_FALSE(far.expired());
  CHECK(never.remaining() == Duration::max());
}

TEST_CASE("polling with a manual clock comes to an end") {
  test::ManualClock clock;
  const Deadline deadline(clock, 1s);
  int polls = 0;
  for (; !deadline.expired(); ++polls) clock.advance(100ms);
  CHECK(polls == 10);
}

TEST_SUITE_END();
