#include "placement/layout/computing_times.hpp"

#include <algorithm>
#include <vector>

#include "graph/op/op_time.hpp"
#include "graph/op/op_work.hpp"
#include "placement/layout/conversion.hpp"

namespace ferry {

/// Whether the user may get the value from the cache, where fusing kept it.
bool ComputingTimes::is_kept(PValueId value, const Node& user) const {
  const Node& maker = program_.nodes[program_.values[value].producer];
  return maker.kind == NodeKind::compute && maker.where == user.where && may_fuse(*maker.def, *user.def);
}

std::int64_t ComputingTimes::of(const Node& node) const {
  if (node.def->is(kView)) return 0;
  OpParts parts;
  std::vector<Type> outputs;
  double kept = 0;
  const auto add = [&](PValueId id, std::vector<Type>& types) {
    const PValue& value = program_.values[id];
    types.push_back(part_type(value.type, value.layout, program_.wheres[value.where]));
  };
  for (const PValueId input : program_.inputs(node)) {
    add(input, parts.inputs);
    if (is_kept(input, node)) kept += static_cast<double>(parts.inputs.back().bytes());
  }
  for (const PValueId output : node.outputs) {
    add(output, parts.outputs);
    outputs.push_back(program_.values[output].type);
    const auto users = users_[output];
    if (users.size() != 1) continue;
    const Node& user = program_.nodes[users[0]];
    if (user.kind == NodeKind::compute && is_kept(output, user))
      kept += static_cast<double>(parts.outputs.back().bytes());
  }
  const DeviceKind kind = program_.runs_on_host(node) ? DeviceKind::cpu : program_.where(node).kind;
  OpWork work = work_of_parts(*node.def, ProgramFacts(program_, program_.inputs(node), *node.attrs), outputs, parts);
  work.bytes = std::max(0.0, work.bytes - kept);
  return kernel_picoseconds(kind, work);
}

}  // namespace ferry
