// number_messages: the channels and collectives of a plan, which all tasks number alike.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/host_patterns.hpp"
#include "placement/plan_tables.hpp"
#include "placement/program.hpp"

namespace ferry {

/// Which channel or collectives a node of the program became.
struct MessageNumbers {
  std::unordered_map<NodeId, std::uint32_t> channels;
  /// A collective whose groups have parts of different sizes becomes several.
  std::unordered_map<NodeId, std::vector<std::uint32_t>> collectives;
  /// Transfers and collectives that start where their value is made, by the node that makes it. Those that follow a
  /// collective or transfer come in turn.
  std::unordered_map<NodeId, std::vector<NodeId>> after;
  std::vector<bool> followed;  ///< of each node: it has an entry in `after`
  std::vector<bool> moved;     ///< of each node: it stands in a list of `after`
};

/// Adds the program's channels and collectives to the plan, in global order.
[[nodiscard]] MessageNumbers number_messages(const Program& program, Plan& plan, PlanTables& tables,
                                             HostPatterns& hosts);

}  // namespace ferry
