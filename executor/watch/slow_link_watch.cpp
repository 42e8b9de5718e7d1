#include "executor/watch/slow_link_watch.hpp"

#include <algorithm>

#include "executor/watch/slow_link_judge.hpp"

namespace ferry {

std::optional<SlowLink> SlowLinkWatch::look(std::span<const WorkTimes> tasks) {
  if (told_) return std::nullopt;
  std::vector<bool> measured(tasks.size());
  for (std::size_t task = 0; task < tasks.size(); ++task)
    measured[task] = std::exchange(samples_[task], tasks[task].samples) != tasks[task].samples;
  std::map<std::pair<int, int>, int> looks;
  std::optional<SlowLink> worst;
  const auto before = [&](const std::pair<int, int>& ends) {
    const auto at = looks_.find(ends);
    return at == looks_.end() ? 0 : at->second;
  };
  for (const SlowLink& link : judge_links(tasks)) {
    const std::pair ends(link.from, link.to);
    const int found = before(ends) + (measured[static_cast<std::size_t>(link.from)] ? 1 : 0);
    looks[ends] = found;
    if (found >= kLooks && (!worst || link.cost > worst->cost)) worst = link;
  }
  looks_ = std::move(looks);
  told_ = worst.has_value();
  return worst;
}

}  // namespace ferry
