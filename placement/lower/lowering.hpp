// Lowering: the tables shared by all classes of a plan while the classes are lowered.
#pragma once

#include <vector>

#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {

/// The tables shared by all classes of a plan while they are lowered. The constructor sets the plan's topology, feeds
/// and fetches, and adds its channels and collectives. Program and plan must outlive it.
struct Lowering {
  Lowering(const Program& from, Plan& into);

  const Program& program;
  const Plan& plan;
  PlanTables tables;
  MessageNumbers messages;
  std::vector<bool> ordered;  ///< for each op of the graph: whether Op::after of another op names it
};

}  // namespace ferry
