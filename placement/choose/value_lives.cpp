#include "placement/choose/value_lives.hpp"

#include <algorithm>

#include "graph/op/op_work.hpp"
#include "placement/program/users.hpp"

namespace ferry {

ValueLives::ValueLives(const Program& program)
    : program_(program),
      position_(program.nodes.size()),
      lives_(program.values.size()),
      first_reader_(program.values.size(), kNone),
      free_(program.values.size()) {
  number(0);
  find_lives(0);
}

void ValueLives::number(ProgramRegionId region) {
  for (const PValueId parameter : program_.regions[region].parameters) lives_[parameter].begin = next_;
  for (const NodeId id : program_.regions[region].order) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) {
      number(node.detail);
      number(node.detail + 1);
    }
    for (const PValueId output : node.outputs) lives_[output].begin = node.kind == NodeKind::feed ? 0 : next_;
    position_[id] = next_++;
  }
  for (const PValueId value : program_.regions[region].results) lives_[value].end = next_ + 1;
  ++next_;
}

/// Visits nodes backwards: if a node's output uses the memory of an input, the input lives until the output's end,
/// which is then known.
void ValueLives::find_lives(ProgramRegionId region) {
  const Users users(program_);
  const std::vector<bool> is_result = region_results(program_);
  const auto visit = [&](const auto& self, ProgramRegionId id) -> void {
    const std::vector<NodeId>& order = program_.regions[id].order;
    for (std::size_t i = order.size(); i > 0; --i) {
      const Node& node = program_.nodes[order[i - 1]];
      if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) {
        self(self, node.detail + 1);
        self(self, node.detail);
      }
      const bool elementwise = node.kind == NodeKind::compute && is_elementwise(*node.def);
      for (const PValueId output : node.outputs) {
        std::uint32_t& end = lives_[output].end;
        end = std::max(end, lives_[output].begin + 1);
        free_[output] = !is_result[output] && has_no_memory(node, users[output]);
      }
      for (const PValueId input : program_.inputs(node)) {
        const std::uint32_t read = position_[order[i - 1]];
        const bool passed_on = node.outputs.count == 1 && free_[node.outputs[0]];
        std::uint32_t& end = lives_[input].end;
        end = std::max(end, passed_on ? lives_[node.outputs[0]].end : read + (elementwise ? 0 : 1));
        first_reader_[input] = std::min(first_reader_[input], read);
      }
    }
  };
  visit(visit, region);
}

bool ValueLives::has_no_memory(const Node& node, std::span<const NodeId> readers) const {
  if (node.kind != NodeKind::compute) return false;
  if (node.def->is(kView)) return true;
  if (!is_elementwise(*node.def)) return false;
  if (std::ranges::any_of(readers, [&](NodeId id) { return program_.nodes[id].kind == NodeKind::assign; })) return true;
  return std::ranges::all_of(readers, [&](NodeId id) {
    const Node& reader = program_.nodes[id];
    return reader.kind == NodeKind::compute && reader.where == node.where && may_fuse(*node.def, *reader.def);
  });
}

}  // namespace ferry
