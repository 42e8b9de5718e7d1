#include "base/system/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace ferry {
namespace {

class SystemClock final : public Clock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
};

}  // namespace

std::string seconds_text(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", std::chrono::duration<double>(time).count());
  return text;
}

void Clock::sleep(Duration time) {
  std::this_thread::sleep_for(time);
}

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Deadline::Deadline(Clock& clock, Duration time) : clock_(&clock) {
  const TimePoint now = clock.now();
  end_ = time > TimePoint::max() - now ? TimePoint::max() : now + std::max(time, Duration::zero());
}

Duration Deadline::remaining() const {
  if (end_ == TimePoint::max()) return Duration::max();
  return std::max(end_ - clock_->now(), Duration::zero());
}

}  // namespace ferry
