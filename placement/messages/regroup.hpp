// Regroup: moves messages to other places in the order of their region, and joins several into one. Shared by the
// passes that fuse messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Works on one region after another. Places are positions in the region's order as it was at enter().
class Regroup {
 public:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  explicit Regroup(Program& program) : program_(program) {}

  /// Begins with a region.
  void enter(RegionId region);
  /// The place of a node; kNowhere if it is not in this region.
  [[nodiscard]] std::size_t place(NodeId node) const;
  /// Where a value's bytes are used first in the value's region, through views, too; kNowhere if they are not used.
  [[nodiscard]] std::size_t used(PValueId value) const;
  /// Moves a node to right after that place.
  void put(NodeId node, std::size_t place);
  /// Replaces messages of one value each, between the same tasks, by one message right after that place, and returns
  /// it. Its values are in that order, except that values of whole cache lines come first, so that more values begin at
  /// a cache line. Views of the messages' results move along.
  NodeId join(std::vector<NodeId> messages, std::size_t place);
  /// Ends with the region and sets its new order.
  void leave();
  /// Call it after the last region. It makes readers of the replaced messages' results read the joined messages'
  /// results.
  void finish();

  /// Bytes of a message's first value on one task.
  [[nodiscard]] std::int64_t bytes_of(NodeId message) const;

 private:
  static bool is_view(const Node& node) { return node.kind == NodeKind::compute && node.def->is(kView); }
  void find_views();
  void rename(PValueId& value) const;

  Program& program_;
  RegionId region_ = 0;
  std::unordered_map<NodeId, std::size_t> place_;
  std::vector<std::uint32_t> used_;                        // of each value, in its region
  std::unordered_map<NodeId, std::vector<NodeId>> views_;  // by node: views of its outputs
  std::map<std::size_t, std::vector<NodeId>> after_;
  std::unordered_set<NodeId> moved_;  // nodes that have been moved, or replaced by a joined message
  std::unordered_map<PValueId, PValueId> renamed_;
};

}  // namespace ferry
