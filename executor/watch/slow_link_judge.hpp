// Finds the links of a job that are slow, from what the system counted on all tasks.
#pragma once

#include <span>
#include <vector>

#include "executor/watch/slow_link.hpp"
#include "executor/watch/work_times.hpp"

namespace ferry {

/// `tasks` has what each task measured, in order. A link is slow under these conditions. It was sending for at least
/// half of the time, and for far longer than the round trips of its messages take. Its rate is at most a fifth of the
/// median of the links between other tasks. A task at one of its ends waits for it. Links that have an end in common
/// share what the network gives that end, so a rate counts as often as links were sending there. A link without others
/// to compare with is never slow. Ascending.
[[nodiscard]] std::vector<SlowLink> judge_links(std::span<const WorkTimes> tasks);

}  // namespace ferry
