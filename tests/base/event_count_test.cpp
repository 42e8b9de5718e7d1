#include "base/system/event_count.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace ferry {
namespace {

TEST_CASE("waiting for what has happened returns at once") {
  EventCount events;
  const auto seen = events.now();
  events.notify();
  events.wait(seen, std::chrono::hours(1));
  CHECK(events.now() == seen + 1);
}

TEST_CASE("no wake-up is missed between two threads that take turns") {
  // Each turn waits for the other thread; a missed wake-up costs an hour.
  constexpr int kTurns = 5000;
  EventCount events;
  std::atomic<int> turn{0};
  const auto player = [&](int parity) {
    for (;;) {
      const auto seen = events.now();
      const int now = turn.load();
      if (now >= kTurns) return;
      if (now % 2 == parity) {
        turn.store(now + 1);
        events.notify();
      } else {
        events.wait(seen, std::chrono::hours(1));
      }
    }
  };
  std::thread other(player, 1);
  player(0);
  other.join();
  CHECK(turn.load() == kTurns);
}

TEST_CASE("a wait ends after its time") {
  EventCount events;
  events.wait(events.now(), std::chrono::microseconds(100));
  events.wait(events.now(), std::chrono::microseconds(0));
  CHECK(events.now() == 0);
}

}  // namespace
}  // namespace ferry
