#include "placement/layout/computing_times.hpp"

#include <algorithm>
#include <vector>

#include "graph/op/op_time.hpp"
#include "graph/op/op_work.hpp"
#include "placement/layout/conversion.hpp"
#include "placement/program/parts.hpp"

namespace ferry {

/// Whether fusing may keep the value in the cache until `user` reads it.
bool ComputingTimes::is_kept(PValueId value, const Node& user) const {
  const Node& maker = program_.nodes[program_.values[value].producer];
  return maker.kind == NodeKind::compute && maker.where == user.where && may_fuse(*maker.def, *user.def);
}

std::int64_t ComputingTimes::of(const Node& node) const {
  return node.def->is(kView) ? 0 : of(kernel(node));
}

StepWork::Kernel ComputingTimes::kernel(const Node& node) const {
  return of_parts(node, [&](PValueId id, std::size_t) {
    const PValue& value = program_.values[id];
    if (value.where == kNone) return value.type;  // only its sizes are used
    const Where& where = program_.wheres[value.where];
    if (value.halo == kNone) return part_type(value.type, value.layout, where);
    return Type{value.type.dtype, Shape(local_sizes(program_, value, where.tasks[0]))};
  });
}

std::int64_t ComputingTimes::of(const Node& node, const Way& way) const {
  if (node.def->is(kView)) return 0;
  return of(of_parts(node, [&](PValueId id, std::size_t i) {
    const Layout& layout = i < node.inputs ? way.inputs[i] : way.outputs[i - node.inputs];
    return part_type(program_.values[id].type, layout, program_.where(node));
  }));
}

std::int64_t ComputingTimes::of(const StepWork::Kernel& kernel) const {
  return kernel_picoseconds(kernel.device, program_.topology->compute, kernel.work, kernel.threads);
}

template <class Part>
StepWork::Kernel ComputingTimes::of_parts(const Node& node, const Part& part) const {
  OpParts parts;
  std::vector<Type> outputs;
  double kept = 0;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    const PValueId input = program_.inputs(node)[i];
    parts.inputs.push_back(part(input, i));
    if (is_kept(input, node)) kept += static_cast<double>(parts.inputs.back().bytes());
  }
  for (std::uint32_t o = 0; o < node.outputs.count; ++o) {
    const PValueId output = node.outputs[o];
    parts.outputs.push_back(part(output, node.inputs + o));
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
  return {work, kind, program_.threads(program_.where(node))};
}

}  // namespace ferry
