// check_budget: refuses a plan that costs more than the user allows.
#pragma once

#include "graph/budget.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// Error(plan) if a step sends more messages or bytes than the budget has, over all tasks, or a task needs more memory:
/// at the line of the transfer that goes over, in the plan's order, or of the task's largest value. It names the whole
/// cost, which is the smallest budget that would do, and the lines that cost the most. Counts as message_costs() does.
void check_budget(const Plan& plan, const Budget& budget);

}  // namespace ferry
