#include "placement/messages/pair_gpus.hpp"

#include <array>

#include "placement/program/parts.hpp"

namespace ferry {
namespace {

/// Whether the pass may replace the transfer. Both ends must have the same device index, because the library identifies
/// the GPUs of a group by their tasks.
bool may_pair(const Program& program, NodeId id) {
  const Node& node = program.nodes[id];
  if (node.kind != NodeKind::transfer || node.inputs != 1 || node.outputs.count != 1 || program.turns.contains(id))
    return false;
  const PValue& from = program.values[program.inputs(node)[0]];
  if (!is_on_gpu(program, program.inputs(node)[0])) return false;
  const Where &source = program.wheres[from.where], &target = program.where(node);
  if (target.kind != DeviceKind::gpu || source.index != target.index) return false;
  return !from.type.shape.bounded() &&
         program.topology->join_gpus(std::array{sender_of(program, node), target.tasks[0]});
}

}  // namespace

void pair_gpus(Program& program) {
  for (const ProgramRegion& region : program.regions)
    for (const NodeId id : region.order) {
      if (!may_pair(program, id)) continue;
      Node& node = program.nodes[id];
      const std::uint32_t pair = program.intern(Grouping{{program.where(node).tasks[0], sender_of(program, node)}});
      node.kind = NodeKind::collective;
      node.detail = static_cast<std::uint32_t>(program.collectives.size());
      program.collectives.push_back(
          {.kind = CollectiveKind::broadcast, .members = {.grouping = pair, .root = 1, .guest_root = true}});
    }
}

}  // namespace ferry
