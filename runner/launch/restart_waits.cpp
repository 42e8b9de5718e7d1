#include "runner/launch/restart_waits.hpp"

#include <algorithm>

namespace ferry {
namespace {

constexpr Duration kLongest = std::chrono::minutes(1), kRanWell = std::chrono::minutes(10);

}  // namespace

Duration RestartWaits::after(Duration ran) {
  if (ran >= kRanWell) next_ = first_;
  const Duration wait = next_;
  next_ = std::max(first_, std::min(2 * wait, kLongest));
  return wait;
}

}  // namespace ferry
