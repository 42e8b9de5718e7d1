// number_messages: makes the channels and collectives of a plan; all tasks give them the same numbers.
//
// Example (abridged):
//
//     %3 = transfer(%0) float32[3] @/task:2/cpu:0  # a
//     %4 = transfer(%1) float32[3] @/task:2/cpu:0  # b
//     %5 = transfer(%2) float32[3] @/task:0/cpu:0  # c
//
// becomes
//
//     channels
//       0 a task 0 -> task 2 float32 12 bytes 1 slot  at model.cpp:1
//       1 b task 1 -> task 2 float32 12 bytes 1 slot  at model.cpp:2
//       2 c task 2 -> task 0 float32 12 bytes 1 slot  at model.cpp:3
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/messages/host_patterns.hpp"
#include "placement/program/program.hpp"
#include "plan/plan_tables.hpp"

namespace ferry {

/// The positions, in the order of the region, where a channel's value is made and where its receiver first uses it.
struct ChannelSpan {
  std::uint32_t made = 0, used = 0;
};

/// The channels or collectives that each message node of the program became.
struct MessageNumbers {
  std::unordered_map<NodeId, Range> channels;  ///< for each transfer; several channels if the value is sent in chunks
  /// A node becomes several collectives if its groups have parts of different sizes or are spread differently over
  /// hosts.
  std::unordered_map<NodeId, std::vector<std::uint32_t>> collectives;
  std::vector<ChannelSpan> spans;  ///< for each channel
  std::vector<bool> sent_on;       ///< for each node: whether some transfer sends its value
  std::vector<bool> carried;       ///< for each value: whether some message sends it, or a view of it
  /// Transfers of a single value, by the node that makes it.
  std::unordered_map<NodeId, std::vector<NodeId>> transfers_after;
};

/// Adds the program's channels and collectives to the plan, in global order.
[[nodiscard]] MessageNumbers number_messages(const Program& program, Plan& plan, PlanTables& tables,
                                             HostPatterns& hosts);

}  // namespace ferry
