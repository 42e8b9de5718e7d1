// A clock that moves only when told: tests of deadlines take no time.
#pragma once

#include <atomic>

#include "base/system/clock.hpp"

namespace ferry::test {

/// Starts at 1 s. Thread-safe.
class ManualClock final : public Clock {
 public:
  TimePoint now() override { return TimePoint(Duration(now_.load())); }
  void sleep(Duration time) override { advance(time); }
  void advance(Duration time) {
    if (time > Duration::zero()) now_ += time.count();
  }

 private:
  std::atomic<Duration::rep> now_{1'000'000'000};
};

}  // namespace ferry::test
