// lower: from the program, which speaks of all tasks, to what each role does.
//
// Every class's list is a projection of one global order. A transfer's send and receive start where its value is made,
// a joined one and a collective where they stand; what they bring is waited for where it is first used, so that they
// overlap what lies between. Who gets nothing waits a few messages later or at the region's end. So the least
// unfinished instruction of the job can always run, also when nothing is buffered.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/class/class_plan.hpp"
#include "placement/lower/class_nodes.hpp"
#include "placement/messages/number_messages.hpp"
#include "placement/plan/plan_tables.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// What the classes of a plan share while they are made. Making it gives the plan its topology, feeds and fetches, and
/// numbers its channels and collectives. Both must outlive it.
struct Lowering {
  Lowering(const Program& from, Plan& into);

  const Program& program;
  const Plan& plan;
  PlanTables tables;
  MessageNumbers messages;
  std::vector<bool> ordered;  ///< of the graph's ops: the user wants others to run after it
};

/// The instructions and buffers of the class that `task` is of, which has these nodes.
[[nodiscard]] ClassPlan lower(Lowering& shared, const ClassNodes& nodes, std::int32_t task);

}  // namespace ferry
