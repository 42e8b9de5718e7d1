// Regroup: moves messages to other places in the order of their region, and joins several messages into one. The passes
// that fuse messages share this class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// Works on one region at a time. Places are positions in the region's order at the time of begin_region().
class Regroup {
 public:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  explicit Regroup(Program& program) : program_(program) {}

  /// Starts the work on a region.
  void begin_region(ProgramRegionId region);
  /// The place of a node; kNowhere if it is not in this region.
  [[nodiscard]] std::size_t place(NodeId node) const;
  /// The place of the first use of a value's bytes in the value's region, also through views; kNowhere if they are not
  /// used.
  [[nodiscard]] std::size_t used(PValueId value) const;
  /// Moves a node to right after `place`.
  void move_after(NodeId node, std::size_t place);
  /// Replaces several messages, each of one value and between the same tasks, by one message right after `place`, and
  /// returns it. Its values are in the order of `messages`, except that values of whole cache lines come first, so that
  /// more values begin at a cache line. Views of the messages' results also move there.
  NodeId join(std::vector<NodeId> messages, std::size_t place);
  /// Ends the work on the region and sets its new order.
  void end_region();
  /// Call it after the last region. It redirects all uses of the replaced messages' results to the joined messages'
  /// results.
  void finish();

  /// Bytes of a message's first value on one task.
  [[nodiscard]] std::int64_t bytes_of(NodeId message) const;

 private:
  static bool is_view(const Node& node) { return node.kind == NodeKind::compute && node.def->is(kView); }
  void find_views();
  void rename(PValueId& value) const;

  Program& program_;
  ProgramRegionId region_ = 0;
  std::unordered_map<NodeId, std::size_t> place_;
  std::vector<std::uint32_t> used_;                        // for each value: its first use
  std::unordered_map<NodeId, std::vector<NodeId>> views_;  // for each node: views of its outputs
  std::map<std::size_t, std::vector<NodeId>> after_;
  std::unordered_set<NodeId> moved_;  // nodes that have been moved, or replaced by a joined message
  std::unordered_map<PValueId, PValueId> renamed_;
};

}  // namespace ferry
