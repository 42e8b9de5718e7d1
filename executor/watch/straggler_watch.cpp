#include "executor/watch/straggler_watch.hpp"

#include <algorithm>
#include <utility>

#include "executor/watch/straggler_judge.hpp"

namespace ferry {

std::vector<Straggler> StragglerWatch::look(std::span<const WorkTimes> tasks) {
  std::vector<Straggler> found = judge_stragglers(tasks), due;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    Seen& seen = seen_[task];
    if (std::exchange(seen.samples, tasks[task].samples) == tasks[task].samples) continue;
    const auto straggler = std::ranges::find(found, static_cast<int>(task), &Straggler::task);
    seen.looks = straggler == found.end() ? 0 : seen.looks + 1;
    if (seen.looks < kLooks || std::exchange(seen.told, true)) continue;
    due.push_back(std::move(*straggler));
  }
  return due;
}

}  // namespace ferry
