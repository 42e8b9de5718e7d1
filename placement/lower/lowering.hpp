// Lowering: the tables that the classes of a plan share while they are made.
#pragma once

#include <vector>

#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {

/// What the classes of a plan share while they are made. The constructor gives the plan its topology, feeds and
/// fetches, and adds its channels and collectives. Program and plan must outlive it.
struct Lowering {
  Lowering(const Program& from, Plan& into);

  const Program& program;
  const Plan& plan;
  PlanTables tables;
  MessageNumbers messages;
  std::vector<bool> ordered;  ///< of each op of the graph: the user wants others to run after it
};

}  // namespace ferry
