// planned_times: the planned times of a plan's kernels, from the work of their ops and the speeds that planning
// assumes.
#pragma once

#include <map>
#include <string>

#include "graph/op/op_def.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Seconds of one run of each kernel, tile region, stencil and copy of the task, by its name in a trace. A kernel of an
/// op that `ops` lacks counts as a copy of its operands.
[[nodiscard]] std::map<std::string, double> planned_times(const Plan& plan, int task, const OpSet& ops);

/// The seconds of all these instructions in a step of the task. Kernels that run once per session do not count. Both
/// sides of a branch count, and a loop's body counts once. Threads and queues are not considered.
[[nodiscard]] double planned_step_seconds(const Plan& plan, int task, const OpSet& ops);

}  // namespace ferry
