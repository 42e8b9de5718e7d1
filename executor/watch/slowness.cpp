#include "executor/watch/slowness.hpp"

#include <algorithm>

namespace ferry {

void SlownessWatch::set(int task, WorkTimes times, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = now;
  times_[task] = std::move(times);
}

WorkTimes SlownessWatch::times(int task) const {
  const std::lock_guard lock(mutex_);
  return times_[task];
}

bool SlownessWatch::due(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!first_ || now - last_ < report_interval(now - *first_)) return false;
  last_ = now;
  return true;
}

std::vector<std::string> SlownessWatch::warnings(std::span<const TaskStatus> tasks, TimePoint now) {
  std::vector<WorkTimes> times;
  {
    const std::lock_guard lock(mutex_);
    times = times_;
  }
  const auto name = [&](int task) { return who(tasks[task]); };
  std::vector<std::string> warnings;
  for (const Straggler& straggler : stragglers_.look(times, judge_stragglers(times)))
    warnings.push_back(text_of(straggler, name(straggler.task)));
  if (link_warned_ || now - last_of_links_ < LinkMeter::kEvery) return warnings;
  last_of_links_ = now;
  const std::vector<SlowLink> links = slow_links_.look(times, judge_links(times));
  const auto worst = std::ranges::max_element(links, {}, &SlowLink::cost);
  if (worst == links.end()) return warnings;
  link_warned_ = true;
  warnings.push_back(text_of(*worst, name(worst->from), name(worst->to)));
  return warnings;
}

}  // namespace ferry
