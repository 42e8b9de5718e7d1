// Users: the nodes that read each value of a program, and the values that are results of regions.
#pragma once

#include <span>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// The readers of every value at the time of construction. A node that reads a value twice is listed twice.
class Users {
 public:
  explicit Users(const Program& program) : first_(program.values.size() + 2), nodes_(program.operands.size()) {
    for (const Node& node : program.nodes)
      for (PValueId input : program.inputs(node)) ++first_[input + 2];
    for (std::size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
    for (NodeId id = 0; id < program.nodes.size(); ++id)
      for (PValueId input : program.inputs(program.nodes[id])) nodes_[first_[input + 1]++] = id;
  }
  /// The readers of the value, in the program's order.
  std::span<const NodeId> operator[](PValueId value) const {
    return {nodes_.data() + first_[value], first_[value + 1] - first_[value]};
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<NodeId> nodes_;
};

/// For each value, whether it is a result of a region.
[[nodiscard]] inline std::vector<bool> region_results(const Program& program) {
  std::vector<bool> results(program.values.size());
  for (const ProgramRegion& region : program.regions)
    for (const PValueId result : region.results) results[result] = true;
  return results;
}

}  // namespace ferry
