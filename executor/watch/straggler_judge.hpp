// Finds the tasks of a job for which the others wait in every step, from what all tasks have measured.
#pragma once

#include <span>
#include <vector>

#include "executor/watch/straggler.hpp"
#include "executor/watch/work_times.hpp"

namespace ferry {

/// `tasks` has what each task measured, in order. Compared are tasks of the same plan that have enough samples: the
/// same op, line and sizes on each. A task is slow if its median is 10 % above the median of the others' medians and
/// the distance is large compared with their variation. At 50 % above, the distance need only be large compared with
/// the medians' errors. The others must also wait for it; their waiting time bounds its cost. Where threads share
/// cores, the time of their own CPU counts in place of the clock's, and only a clear difference. Ascending by task.
[[nodiscard]] std::vector<Straggler> judge_stragglers(std::span<const WorkTimes> tasks);

}  // namespace ferry
