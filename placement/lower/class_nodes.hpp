// ClassNodes: the nodes of a program that each class of a plan takes part in.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "placement/messages/number_messages.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Finds the nodes of all classes in one walk, so that lowering a class takes time proportional to the class's own
/// nodes, not to the whole program. A class has the nodes that are on its tasks, and the messages from or to them. Not
/// thread-safe. The constructor's arguments must outlive it.
class ClassNodes {
 public:
  /// `plan` must already have class_of, and the channels and collectives of the program.
  ClassNodes(const Program& program, const Plan& plan, const MessageNumbers& messages);

  /// The class's nodes in one region of the program, in the region's order, except that transfers of a single value
  /// come right after the node that makes it.
  [[nodiscard]] std::span<const NodeId> of(std::uint32_t plan_class, ProgramRegionId region) const;
  /// The class's nodes in all regions.
  [[nodiscard]] std::span<const NodeId> of(std::uint32_t plan_class) const { return classes_[plan_class].nodes; }
  /// The device sets that the class's tasks are in, ascending.
  [[nodiscard]] std::span<const WhereId> wheres(std::uint32_t plan_class) const { return classes_[plan_class].wheres; }
  /// Frees the facts about the class.
  void forget(std::uint32_t plan_class) { classes_[plan_class] = {}; }

 private:
  struct OfClass {
    std::vector<NodeId> nodes;                                    // region after region
    std::vector<std::pair<ProgramRegionId, std::size_t>> begins;  // for regions with nodes: the first index in `nodes`
    std::vector<WhereId> wheres;
  };
  using Classes = std::vector<std::uint32_t>;

  void walk(ProgramRegionId region);
  void walk_transfers(NodeId maker);
  void add(NodeId node);
  void add(NodeId node, std::uint32_t plan_class);
  [[nodiscard]] std::uint32_t class_of(std::int32_t task) const { return plan_.class_of[task]; }
  template <class Groups>
  void collect(const Groups& groups, Classes& classes);
  const Classes& of_grouping(std::uint32_t grouping);

  const Program& program_;
  const Plan& plan_;
  const MessageNumbers& messages_;
  std::vector<OfClass> classes_;
  std::vector<Classes> of_where_;     // for each device set
  std::vector<Classes> of_grouping_;  // for each grouping of the plan; filled at its first use
  std::vector<std::uint32_t> seen_;   // for each class: number of the last list to which collect() added it
  std::uint32_t lists_ = 0;
  ProgramRegionId region_ = 0;
};

}  // namespace ferry
