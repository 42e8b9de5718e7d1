// The cost of --invariant, as text.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace ferry {

/// "--invariant=8: shards of a task: 4; memory of a task by the plan: 1.2 MiB, without 600 KiB; messages of a step: 112
/// of 3.4 MiB, without 2 of 1.7 MiB". `plan` has a task for each shard, and `tasks` processes run it. `without` is the
/// plan for `tasks` tasks without --invariant; null: there is none. Memory is the memory of the process that needs the
/// most. Messages inside loops and branches are not counted.
[[nodiscard]] std::string invariant_cost(const Plan& plan, int tasks, const Plan* without);

}  // namespace ferry
