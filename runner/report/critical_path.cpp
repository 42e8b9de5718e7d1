#include "runner/report/critical_path.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "runner/report/time_use.hpp"

namespace ferry {
namespace {

class PathFinder {
 public:
  explicit PathFinder(const TracedRun& run) : run_(run) {
    for (std::uint32_t i = 0; i < run.events.size(); ++i)
      if (const TracedEvent& event = run.events[i]; event.activity != Activity::nested)
        threads_[event.task][event.thread].push_back(i);
    for (const TracedStep& step : run.steps) {
      steps_[step.task].push_back(&step);
      if (step.end == run.nanoseconds) task_ = step.task;
    }
  }

  std::vector<PathSegment> find() {
    now_ = run_.nanoseconds;
    while (now_ > 0) {
      const std::optional<std::uint32_t> last = before(task_, thread_, now_);
      if (!last) {
        add_idle_time(0);
      } else if (run_.events[*last].end < now_) {
        if (!to_other_thread(run_.events[*last].end)) add_idle_time(run_.events[*last].end);
      } else {
        follow(*last);
      }
    }
    std::ranges::reverse(path_);
    return std::move(path_);
  }

 private:
  /// The last event of the thread that begins before `time`.
  [[nodiscard]] std::optional<std::uint32_t> before(std::int32_t task, std::int32_t thread, std::int64_t time) const {
    const auto of_task = threads_.find(task);
    if (of_task == threads_.end()) return std::nullopt;
    const auto of_thread = of_task->second.find(thread);
    if (of_thread == of_task->second.end()) return std::nullopt;
    const std::vector<std::uint32_t>& list = of_thread->second;
    const auto at = std::ranges::lower_bound(list, time, {}, [&](std::uint32_t i) { return run_.events[i].begin; });
    return at == list.begin() ? std::nullopt : std::optional(*(at - 1));
  }

  /// If the current thread did nothing since `since` and another thread of the task worked, continues on the thread
  /// that worked last. Returns whether there is such a thread.
  bool to_other_thread(std::int64_t since) {
    std::optional<std::int32_t> other;
    std::int64_t latest = since;
    for (const auto& [thread, list] : threads_[task_]) {
      if (thread == thread_) continue;
      const auto last = before(task_, thread, now_);
      if (!last || run_.events[*last].activity == Activity::thread_wait) continue;
      const std::int64_t end = std::min(run_.events[*last].end, now_);
      if (end <= latest) continue;
      latest = end;
      other = thread;
    }
    if (!other) return false;
    add_idle_time(latest);
    thread_ = *other;
    return true;
  }

  void follow(std::uint32_t index) {
    const TracedEvent& event = run_.events[index];
    if (event.activity == Activity::thread_wait && to_other_thread(event.begin)) return;
    if (sender_delay(run_, event) > 0) {
      const TracedEvent& sender = run_.events[run_.messages[event.message].sender];
      if (sender.begin < now_) {
        add(PathSegment::Kind::message, sender.begin, index);
        task_ = sender.task;
        thread_ = sender.thread;
        return;
      }
    }
    add(event.activity == Activity::message_wait ? PathSegment::Kind::message : PathSegment::Kind::event, event.begin,
        index);
  }

  void add(PathSegment::Kind kind, std::int64_t begin, std::uint32_t event = 0) {
    begin = std::max<std::int64_t>(begin, 0);
    if (begin < now_) path_.push_back({kind, task_, thread_, begin, now_, event});
    now_ = begin;
  }

  /// Adds the time from `begin` to now, in which no event ran, as time inside of steps or outside of them.
  void add_idle_time(std::int64_t begin) {
    while (now_ > begin) {
      const std::vector<const TracedStep*>& steps = steps_[task_];
      const auto at = std::ranges::lower_bound(steps, now_, {}, [](const TracedStep* step) { return step->begin; });
      if (at == steps.begin()) return add(PathSegment::Kind::outside, begin);
      const TracedStep& step = **(at - 1);
      if (step.end < now_)
        add(PathSegment::Kind::outside, std::max(begin, step.end));
      else
        add(PathSegment::Kind::between, std::max(begin, step.begin));
    }
  }

  const TracedRun& run_;
  std::map<std::int32_t, std::map<std::int32_t, std::vector<std::uint32_t>>> threads_;  // events, by task and thread
  std::map<std::int32_t, std::vector<const TracedStep*>> steps_;                        // by task
  std::int32_t task_ = 0, thread_ = 0;
  std::int64_t now_ = 0;
  std::vector<PathSegment> path_;
};

}  // namespace

std::vector<PathSegment> critical_path(const TracedRun& run) {
  return PathFinder(run).find();
}

}  // namespace ferry
