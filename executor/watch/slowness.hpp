// SlownessWatch: warns of tasks and links that make the job slow for some time.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "executor/watch/slow_link.hpp"
#include "executor/watch/straggler.hpp"
#include "executor/watch/verdict.hpp"
#include "executor/watch/work_times.hpp"

namespace ferry {

/// Finds the tasks of a job for which the others wait in every step. `tasks` has what each task measured, in order.
/// Compared are tasks of the same plan that have enough samples: the same op, line and sizes on each. A task is slow if
/// its median is 10 % above the median of the others' medians and the distance is large compared with their variation.
/// At 50 % above, the distance need only be large compared with the medians' errors. The others must also wait for it;
/// their waiting time bounds its cost. Where threads share cores, the time of their own CPU counts in place of the
/// clock's, and only a clear difference. Ascending by task.
[[nodiscard]] std::vector<Straggler> judge_stragglers(std::span<const WorkTimes> tasks);

/// Finds the links of a job that are slow. `tasks` has what each task measured, in order. A link is slow under these
/// conditions. It was sending for at least half of the time, and for far longer than the round trips of its messages
/// take. Its rate is at most a fifth of the median of the links between other tasks. A task at one of its ends waits
/// for it. Links that have an end in common share what the network gives that end, so a rate counts as often as links
/// were sending there. A link without others to compare with is never slow. Ascending.
[[nodiscard]] std::vector<SlowLink> judge_links(std::span<const WorkTimes> tasks);

/// The tasks that a finding is about. The first one measures it.
using FindingSubject = std::pair<int, int>;
[[nodiscard]] inline FindingSubject subject_of(const Straggler& straggler) {
  return {straggler.task, straggler.task};
}
[[nodiscard]] inline FindingSubject subject_of(const SlowLink& link) {
  return {link.from, link.to};
}

/// Selects the findings of a judge that persist. A look in which the first task of a subject has measured nothing new
/// does not count for that subject.
template <class Finding>
class PersistentFindings {
 public:
  /// A finding persists after this many consecutive looks.
  static constexpr int kLooks = 6;

  explicit PersistentFindings(std::size_t tasks) : samples_(tasks) {}

  /// Takes what the judge finds in `tasks`. Returns the findings that persist from this look on, each subject once.
  [[nodiscard]] std::vector<Finding> look(std::span<const WorkTimes> tasks, std::vector<Finding> found) {
    std::vector<bool> measured(tasks.size());
    for (std::size_t task = 0; task < tasks.size(); ++task)
      measured[task] = std::exchange(samples_[task], tasks[task].samples) != tasks[task].samples;
    const auto is_measured = [&](const FindingSubject& subject) {
      return measured[static_cast<std::size_t>(subject.first)];
    };
    std::map<FindingSubject, int> before = looks_;
    std::erase_if(looks_, [&](const auto& counted) { return is_measured(counted.first); });
    std::vector<Finding> due;
    for (Finding& finding : found) {
      const FindingSubject subject = subject_of(finding);
      if (!is_measured(subject)) continue;
      const int looks = looks_[subject] = before[subject] + 1;
      if (looks >= kLooks && told_.insert(subject).second) due.push_back(std::move(finding));
    }
    return due;
  }

 private:
  std::vector<std::int64_t> samples_;  // by task, in the last look
  std::map<FindingSubject, int> looks_;
  std::set<FindingSubject> told_;
};

/// Has what tasks have measured. The process of task 0 has the times of all tasks, and compares them. Thread-safe,
/// except for due() and warnings(), which one thread calls.
class SlownessWatch {
 public:
  explicit SlownessWatch(std::size_t tasks) : times_(tasks), stragglers_(tasks), slow_links_(tasks) {}

  /// A task's newest times.
  void set(int task, WorkTimes times, TimePoint now);
  [[nodiscard]] WorkTimes times(int task) const;
  /// Whether it is time to compare the tasks or to send their times: every tell_interval().
  [[nodiscard]] bool due(TimePoint now);
  /// Compares the tasks. Returns a warning for each task that stays behind, once, and one for the link that costs most,
  /// once for the job. `tasks`: for their names.
  [[nodiscard]] std::vector<std::string> warnings(std::span<const Sighting> tasks, TimePoint now);

 private:
  mutable std::mutex mutex_;  // guards times_ and first_
  std::vector<WorkTimes> times_;
  std::optional<TimePoint> first_;  // when the first times came
  TimePoint last_, last_of_links_;
  PersistentFindings<Straggler> stragglers_;
  PersistentFindings<SlowLink> slow_links_;
  bool link_told_ = false;
};

}  // namespace ferry
