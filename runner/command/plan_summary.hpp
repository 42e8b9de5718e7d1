// The summary that `ferry plan` prints without --all: a plan on one screen.
#pragma once

#include <string>

#include "ops/op_set.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// Has at most 30 lines: the totals of a step, and its estimated time if the result has it; the tasks of each role,
/// their memory, number of instructions and estimated computing time; and the ten largest messages with their lines,
/// and with their reasons if the result has reasons. `ops` must define the plan's ops: the computing times come from
/// it.
///
///     plan of 3 tasks in 3 classes; a step sends 2 messages of 24 bytes, copies 0 values
///     estimated time of a step: 0.004 ms, computing 0.001 ms, messages 0.003 ms
///     class 0: task 0, 1 thread, cpu:0 64 bytes a step and 0 kept; 5 instructions, less than 0.001 ms of computing
///     …
///     messages, the largest first:
///       12 B  a  transfer from /task:0 to /task:2/cpu:0: used by c, which is annotated /task:2  at add.cpp:12
[[nodiscard]] std::string plan_summary(const PlanResult& result, const OpSet& ops);

}  // namespace ferry
