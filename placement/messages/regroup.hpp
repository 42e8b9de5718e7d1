// Regroup: puts messages of a region at other places in its order and joins several into one. What the passes share
// that fuse messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Works on one region after another; places are positions in the region's order as it was when the region was entered.
class Regroup {
 public:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  explicit Regroup(Program& program) : program_(program) {}

  /// Begins with a region.
  void enter(RegionId region);
  /// Where a node stands in the region; kNowhere: elsewhere.
  [[nodiscard]] std::size_t place(NodeId node) const;
  /// Where a value's bytes are used first in the region, through views, too; kNowhere: not in it.
  [[nodiscard]] std::size_t used(PValueId value) const;
  /// Has a node stand right after that place.
  void put(NodeId node, std::size_t place);
  /// Several messages of one value each, which go the same way, become one right after that place. Their values are
  /// put in that order, but those first that keep the others at cache lines. Views of what they bring go along.
  NodeId join(std::vector<NodeId> messages, std::size_t place);
  /// Ends with the region: gives it the new order.
  void leave();
  /// After the last region: who read what a joined message brought reads it still.
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
  std::unordered_map<NodeId, std::vector<NodeId>> views_;  // of what a node makes
  std::map<std::size_t, std::vector<NodeId>> after_;
  std::unordered_set<NodeId> moved_;  // stand elsewhere now, or are part of another node
  std::unordered_map<PValueId, PValueId> renamed_;
};

}  // namespace ferry
