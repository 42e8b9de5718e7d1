#include "base/system/clock.hpp"

#include <algorithm>
#include <thread>

#include "base/number_text.hpp"

namespace ferry {
namespace {

class SystemClock final : public Clock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
};

}  // namespace

std::string seconds_text(Duration time) {
  return digits_text(std::chrono::duration<double>(time).count(), 3) + " s";
}

void Clock::sleep(Duration time) {
  std::this_thread::sleep_for(time);
}

Clock& system_clock() {
  static auto& clock = *new SystemClock;  // never destroyed: other threads than the one in exit() may read it
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
