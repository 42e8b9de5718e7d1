// kernel_work: the work of one kernel of a plan.
#pragma once

#include "graph/op/op_def.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The work of a kernel of the class that computes `def`, on the parts that a task has. An input's packed form, which
/// the kernel takes in addition to the op's inputs, does not count. If the operands are not the op's own, such as rows
/// for other tasks, each output element counts as OpDef::flops. `plan` has the class's tables.
[[nodiscard]] OpWork kernel_work(const OpDef& def, const Plan& plan, const PlanClass& role, const Instruction& kernel);

}  // namespace ferry
#pragma GCC visibility pop
