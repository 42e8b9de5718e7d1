#include "placement/layout/joined_parts.hpp"

#include <algorithm>

#include "placement/program/parts.hpp"

namespace ferry {

Layout layout_of_joined_parts(const Program& program, const Node& node, std::span<const PValueId> inputs) {
  const Where& mesh = program.where(node);
  if (node.def->joins == nullptr || mesh.single() || inputs.size() != mesh.tasks.size()) return {};
  PValue output = program.values[node.outputs[0]];
  const Shape& shape = output.type.shape;
  if (shape.bounded()) return {};
  const std::size_t dim = node.def->joins(*node.attrs, static_cast<std::size_t>(shape.rank()));
  const Layout layout = mesh.laid_out(Layout(mesh.axes.size(), split(static_cast<std::int16_t>(dim))));
  output.where = node.where;
  output.layout = LayoutRef(layout);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const PValue& part = program.values[inputs[k]];
    if (part.where == kNone || !program.wheres[part.where].single()) return {};
    const Where& device = program.wheres[part.where];
    if (device.tasks[0] != mesh.tasks[k] || device.kind != mesh.kind || device.index != mesh.index) return {};
    if (part.type.shape.sizes() != local_sizes(program, output, mesh.tasks[k])) return {};
  }
  return layout;
}

bool joins_parts(const Program& program, const Node& node) {
  if (node.kind != NodeKind::copy || node.inputs < 2) return false;
  const Layout& layout = program.values[node.outputs[0]].layout;
  return std::ranges::any_of(layout, [](const AxisLayout& axis) { return axis.kind == AxisLayout::Kind::split; });
}

}  // namespace ferry
