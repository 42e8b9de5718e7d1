#include "placement/layout/mesh_parts.hpp"

#include <algorithm>

#include "placement/program/parts.hpp"

namespace ferry {

std::vector<std::size_t> positions(const Where& mesh, std::size_t corner, const Axes& free) {
  std::vector<std::size_t> found{corner};
  std::size_t stride = mesh.tasks.size();
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const auto size = static_cast<std::size_t>(mesh.axes[axis]);
    stride /= size;
    if (!free[axis]) continue;
    std::vector<std::size_t> more;
    for (const std::size_t position : found) {
      const std::size_t first = position - position / stride % size * stride;
      for (std::size_t k = 0; k < size; ++k) more.push_back(first + k * stride);
    }
    found = std::move(more);
  }
  return found;
}

WhereId part_of_mesh(Program& program, WhereId mesh, std::size_t corner, const Axes& axes) {
  const Where& whole = program.wheres[mesh];
  const std::vector<std::size_t> taken = positions(whole, corner, axes);
  if (taken.size() == whole.tasks.size()) return mesh;
  Where part;
  part.whole = mesh;
  part.kind = whole.kind;
  part.index = whole.index;
  for (const std::size_t position : taken) part.tasks.push_back(whole.tasks[position]);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis]) continue;
    part.axes.push_back(whole.axes[axis]);
    part.groupings.push_back(whole.groupings[axis]);
    part.between_hosts.push_back(whole.between_hosts[axis]);
  }
  return program.intern(std::move(part));
}

Members groups_along(Program& program, WhereId mesh, std::size_t corner, const Axes& others, const Axes& axes) {
  const Where& whole = program.wheres[mesh];
  Members members;
  Grouping groups;
  for (const std::size_t position : positions(whole, corner, others)) {
    const std::vector<std::size_t> along = positions(whole, position, axes);
    members.root = static_cast<std::int32_t>(std::find(along.begin(), along.end(), position) - along.begin());
    std::vector<std::int32_t>& group = groups.emplace_back();
    for (const std::size_t member : along) group.push_back(whole.tasks[member]);
  }
  members.grouping = program.intern(std::move(groups));
  return members;
}

}  // namespace ferry
