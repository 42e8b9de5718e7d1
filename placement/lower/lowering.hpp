// Lowering: the tables shared by all classes of a plan while the classes are lowered.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {

/// Whether kernels read variables that no step sets in a packed form, which takes more memory.
enum class VariablePacking : std::uint8_t { none, all };

/// The tables shared by all classes of a plan while they are lowered. The constructor sets the plan's topology, feeds
/// and fetches, and adds its channels and collectives. Program and plan must outlive it.
struct Lowering {
  Lowering(const Program& from, Plan& into, VariablePacking packing = VariablePacking::all);

  const Program& program;
  const Plan& plan;
  PlanTables tables;
  MessageNumbers messages;
  std::vector<bool> ordered;  ///< for each op of the graph: whether Op::after of another op names it
  /// For each op of the graph: whether it is a variable that kernels may read in a packed form, because no step sets
  /// it.
  std::vector<bool> packable;
};

}  // namespace ferry
