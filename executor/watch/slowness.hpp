// SlownessWatch: warns of tasks and links that slow the job down for some time.
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

/// Finds the tasks for which the other tasks of the job wait in every step. `tasks` has the times of each task, in
/// order. The function compares tasks of the same plan that have enough samples, for each op, line and sizes. A task is
/// slow if its median is 10 % above the median of the other tasks' medians and the difference is large compared with
/// their variation. From 50 % on, the difference need only be large compared with the standard errors of the medians.
/// The other tasks must also wait for the task; their waiting time bounds its cost. If threads share cores, the
/// function compares the CPU time of the threads in place of wall time, and needs a difference of 50 %. The result is
/// ascending by task.
[[nodiscard]] std::vector<Straggler> judge_stragglers(std::span<const WorkTimes> tasks);

/// Finds the slow links of a job. `tasks` has the times of each task, in order. A link is slow if all of these hold. It
/// was sending for at least half of the time, and for far longer than the round trips of its messages take. Its rate is
/// at most a fifth of the median rate of the other links. A task at one of its ends waits. Links with a common end
/// share the bandwidth of that end. So the function multiplies the rate of a link by the number of links that were
/// sending at its busier end. A link without other links to compare with is never slow. The result is ascending.
[[nodiscard]] std::vector<SlowLink> judge_links(std::span<const WorkTimes> tasks);

/// The tasks that a finding is about. The first task has measured the times.
using FindingSubject = std::pair<int, int>;
[[nodiscard]] inline FindingSubject subject_of(const Straggler& straggler) {
  return {straggler.task, straggler.task};
}
[[nodiscard]] inline FindingSubject subject_of(const SlowLink& link) {
  return {link.from, link.to};
}

/// Selects the findings of a judge that persist. A look counts for a finding only if the first task of its subject has
/// measured something since the last look.
template <class Finding>
class PersistentFindings {
 public:
  /// A finding persists after this many consecutive looks.
  static constexpr int kLooks = 6;

  explicit PersistentFindings(std::size_t tasks) : samples_(tasks) {}

  /// Counts the findings of the judge in `tasks`. Returns the findings that persist from this look on, each subject
  /// once.
  [[nodiscard]] std::vector<Finding> look(std::span<const WorkTimes> tasks, std::vector<Finding> found) {
    std::vector<bool> measured(tasks.size());
    for (std::size_t task = 0; task < tasks.size(); ++task)
      measured[task] = std::exchange(samples_[task], tasks[task].samples) != tasks[task].samples;
    const auto is_measured = [&](const FindingSubject& subject) { return measured[subject.first]; };
    std::map<FindingSubject, int> before = looks_;
    std::erase_if(looks_, [&](const auto& counted) { return is_measured(counted.first); });
    std::vector<Finding> due;
    for (Finding& finding : found) {
      const FindingSubject subject = subject_of(finding);
      if (!is_measured(subject)) continue;
      const int looks = looks_[subject] = before[subject] + 1;
      if (looks >= kLooks && warned_.insert(subject).second) due.push_back(std::move(finding));
    }
    return due;
  }

 private:
  std::vector<std::int64_t> samples_;  // by task: the number of samples in the last look
  std::map<FindingSubject, int> looks_;
  std::set<FindingSubject> warned_;
};

/// Has the measured times of tasks. The process of task 0 has the times of all tasks, and compares them. Thread-safe,
/// except for due() and warnings(), which only one thread may call.
class SlownessWatch {
 public:
  explicit SlownessWatch(std::size_t tasks) : times_(tasks), stragglers_(tasks), slow_links_(tasks) {}

  /// Sets the newest times of a task.
  void set(int task, WorkTimes times, TimePoint now);
  [[nodiscard]] WorkTimes times(int task) const;
  /// Whether it is time to compare the tasks or to send their times: once in each report_interval().
  [[nodiscard]] bool due(TimePoint now);
  /// Compares the tasks. Returns a warning for each task that stays behind, once for each, and a warning for the most
  /// expensive link, once for the job. `tasks` has the names of the tasks for the warnings.
  [[nodiscard]] std::vector<std::string> warnings(std::span<const TaskStatus> tasks, TimePoint now);

 private:
  mutable std::mutex mutex_;  // guards times_ and first_
  std::vector<WorkTimes> times_;
  std::optional<TimePoint> first_;  // when the first times arrived
  TimePoint last_, last_of_links_;
  PersistentFindings<Straggler> stragglers_;
  PersistentFindings<SlowLink> slow_links_;
  bool link_warned_ = false;
};

}  // namespace ferry
