// check_budget: refuses a plan that costs more than the user allows.
#pragma once

#include "graph/budget.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Error(plan) if a step sends more messages or bytes, over all tasks, than the budget allows, or if a task needs more
/// memory. The error has the line of the first transfer over the limit, in the plan's order, or the line of the task's
/// largest value. It names the whole cost, which is the smallest budget that would do, and the lines that cost the
/// most. Counts as message_costs() does.
void check_budget(const Plan& plan, const Budget& budget);

}  // namespace ferry
