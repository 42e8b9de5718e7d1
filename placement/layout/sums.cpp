#include "placement/layout/sums.hpp"

#include <utility>

namespace ferry {

Sums::Sums(const Program& program) : program_(program), reader_(program.values.size(), kNone) {
  std::vector<bool> read(program.values.size());
  const auto add_reader = [&](PValueId value, NodeId reader) {
    reader_[value] = read[value] ? NodeId(kNone) : reader;
    read[value] = true;
  };
  for (NodeId id = 0; id < program.nodes.size(); ++id)
    for (const PValueId input : program.inputs(program.nodes[id])) add_reader(input, id);
  for (const ProgramRegion& region : program.regions)
    for (const PValueId result : region.results) add_reader(result, kNone);
}

bool Sums::is_addition(const Node& node) const {
  if (node.kind != NodeKind::compute || node.where == kNone) return false;
  if (node.inputs != 2 || node.def->reduce != Reduce::sum) return false;
  const auto inputs = program_.inputs(node);
  const Type& type = program_.values[node.outputs[0]].type;
  if (node.def->linear_in(type.dtype) != 0b11) return false;
  return program_.values[inputs[0]].type == type && program_.values[inputs[1]].type == type;
}

bool Sums::is_continued(NodeId id) const {
  const Node& node = program_.nodes[id];
  if (!is_addition(node)) return false;
  const NodeId reader = reader_[node.outputs[0]];
  if (reader == kNone || !program_.annotation_layouts(node).empty()) return false;
  const Node& next = program_.nodes[reader];
  return is_addition(next) && next.def == node.def && next.where == node.where;
}

OpenSum Sums::take_sum(NodeId id) {
  OpenSum sum;
  for (const PValueId input : program_.inputs(program_.nodes[id])) {
    const auto open = open_.find(input);
    if (open == open_.end()) {
      sum.terms.push_back(input);
      continue;
    }
    sum.terms.insert(sum.terms.end(), open->second.terms.begin(), open->second.terms.end());
    sum.nodes.insert(sum.nodes.end(), open->second.nodes.begin(), open->second.nodes.end());
    open_.erase(open);
  }
  sum.nodes.push_back(id);
  return sum;
}

void Sums::leave_open(NodeId node, OpenSum sum) {
  open_[program_.nodes[node].outputs[0]] = std::move(sum);
}

}  // namespace ferry
