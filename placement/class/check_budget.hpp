// check_budget: rejects a plan that costs more than the user allows.
#pragma once

#include "graph/budget.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Throws Error(plan) if a step sends more messages or bytes, over all tasks, than the budget allows, or if a task
/// needs more memory. The error has the line of the first transfer over the limit, in the plan's order, or the line of
/// the task's largest value. It also has the total cost, which is the smallest sufficient budget, and the lines with
/// the highest costs. Costs are counted as in message_costs().
void check_budget(const Plan& plan, const Budget& budget);

}  // namespace ferry
