#include "runner/report/time_use.hpp"

#include <algorithm>

namespace ferry {
namespace {

void add(const TracedRun& run, const TracedEvent& event, TimeUse& use) {
  const std::int64_t time = event.end - event.begin;
  switch (event.activity) {
    case Activity::computing:
      use.computing += time;
      return;
    case Activity::sending:
      use.moving += time;
      return;
    case Activity::message_wait: {
      const std::int64_t late = sender_delay(run, event);
      if (late > 0) use.waiting[run.events[run.messages[event.message].sender].task] += late;
      use.moving += time - late;
      return;
    }
    case Activity::thread_wait:
      use.threads += time;
      return;
    case Activity::launching:
      use.between += time;
      return;
    case Activity::nested:
      return;
  }
}

}  // namespace

std::int64_t TimeUse::sum() const {
  std::int64_t sum = computing + moving + threads + between + outside;
  for (const auto& [task, time] : waiting) sum += time;
  return sum;
}

std::int64_t sender_delay(const TracedRun& run, const TracedEvent& wait) {
  if (wait.message < 0) return 0;
  const TracedMessage& message = run.messages[wait.message];
  return std::clamp<std::int64_t>(run.events[message.sender].begin - wait.begin, 0, wait.end - wait.begin);
}

std::vector<TimeUse> time_uses(const TracedRun& run) {
  std::vector<TimeUse> uses(static_cast<std::size_t>(run.tasks));
  std::vector<bool> threaded(uses.size(), false);
  for (const TracedEvent& event : run.events)
    if (event.thread > 0 && !run.queues.contains({event.task, event.thread})) threaded[event.task] = true;
  auto at = run.events.begin();
  for (const TracedStep& step : run.steps) {
    const auto task = static_cast<std::size_t>(step.task);
    TimeUse& use = uses[task];
    const auto before = use.sum();
    std::int64_t done = step.begin;
    while (at != run.events.end() &&
           (at->task < step.task || (at->task == step.task && at->thread == 0 && at->begin < step.begin)))
      ++at;
    for (; at != run.events.end() && at->task == step.task && at->thread == 0 && at->begin < step.end; ++at) {
      add(run, *at, use);
      if (at->activity != Activity::nested) done = std::max(done, at->end);
    }
    const std::int64_t rest = step.end - step.begin - (use.sum() - before);
    const std::int64_t end = std::min(rest, step.end - done);
    (threaded[task] ? use.threads : use.between) += end;
    use.between += rest - end;
  }
  for (TimeUse& use : uses) use.outside = run.nanoseconds - use.sum();
  return uses;
}

}  // namespace ferry
