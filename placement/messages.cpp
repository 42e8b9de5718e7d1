#include "placement/messages.hpp"

#include <map>
#include <numeric>

#include "placement/choose_schedule.hpp"
#include "placement/classes.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kExtentBytes = 8;

/// Numbers the channels and collectives in global order.
class Numberer {
 public:
  Numberer(const Program& program, Plan& plan, PlanTables& tables) : program_(program), plan_(plan), tables_(tables) {}

  MessageNumbers run() {
    numbers_.sent_on.resize(program_.nodes.size());
    region(0);
    return std::move(numbers_);
  }

 private:
  void region(RegionId id) {
    for (NodeId node_id : program_.regions[id].order) {
      const Node& node = program_.nodes[node_id];
      if (node.kind == NodeKind::transfer) {
        channel(node_id);
      } else if (node.kind == NodeKind::collective) {
        collective(node_id);
      } else if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) {
        region(node.detail);
        region(node.detail + 1);
      }
    }
  }

  void channel(NodeId id) {
    const Node& node = program_.nodes[id];
    const PValue& value = program_.values[node.first_output];
    Channel channel;
    channel.from = sender_of(program_, node);
    channel.to = program_.where(node).tasks[0];
    channel.dtype = value.type.dtype;
    channel.bytes = message_bytes(value.type);
    channel.name = name_of(node);
    channel.line = tables_.line(program_.line(node));
    numbers_.channels[id] = static_cast<std::uint32_t>(plan_.channels.size());
    plan_.channels.push_back(channel);
    const PValueId sent = program_.inputs(node)[0];
    numbers_.transfers_after[program_.values[sent].producer].push_back(id);
    numbers_.sent_on[program_.values[sent].producer] = true;
  }

  std::uint32_t name_of(const Node& node) {
    const PValue& value = program_.values[program_.inputs(node)[0]];
    return tables_.value_name(*value.graph, value.value);
  }

  static std::uint64_t message_bytes(const Type& type) {
    return static_cast<std::uint64_t>(type.bytes()) + (type.shape.bounded() ? kExtentBytes : 0);
  }

  void collective(NodeId id) {
    const Node& node = program_.nodes[id];
    const ProgramCollective& wanted = program_.collectives[node.detail];
    // One collective for the groups that have parts of equal sizes and lie alike on hosts.
    std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>>, Grouping> alike;
    for (const auto& group : program_.groupings[wanted.members.grouping])
      alike[{parts(node, wanted, group), host_pattern(group, *program_.topology)}].push_back(group);
    for (const auto& [key, grouping] : alike) {
      const std::vector<std::int64_t>& sizes = key.first;
      Collective collective;
      const Type& type = program_.values[node.first_output].type;
      collective.dtype = type.shape.bounded() ? DType::uint8 : type.dtype;  // the extent goes along as bytes
      const std::int64_t elements = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
      const Schedule schedule =
          choose_schedule({.kind = wanted.kind,
                           .group = grouping[0],
                           .root = wanted.members.root,
                           .guest_root = wanted.members.guest_root,
                           .bytes = elements * static_cast<std::int64_t>(size_of(collective.dtype))},
                          *program_.topology);
      collective.schedule = tables_.schedule(schedule);
      collective.grouping = tables_.grouping(grouping);
      collective.reduce = wanted.reduce;
      collective.parts = schedule.whole ? std::vector<std::int64_t>{elements} : sizes;
      collective.name = name_of(node);
      collective.line = tables_.line(program_.line(node));
      numbers_.collectives[id].push_back(static_cast<std::uint32_t>(plan_.collectives.size()));
      plan_.collectives.push_back(std::move(collective));
    }
  }

  /// Elements of each member's part.
  std::vector<std::int64_t> parts(const Node& node, const ProgramCollective& wanted,
                                  const std::vector<std::int32_t>& group) const {
    const PValue& input = program_.values[program_.inputs(node)[0]];
    const PValue& output = program_.values[node.first_output];
    const auto members = static_cast<std::int64_t>(group.size());
    std::vector<std::int64_t> sizes;
    switch (wanted.kind) {
      case CollectiveKind::broadcast:
        return {input.type.shape.bounded() ? static_cast<std::int64_t>(message_bytes(input.type))
                                           : input.type.shape.count()};
      case CollectiveKind::reduce:
        return {checked_count(local_sizes(program_, input, group[0]))};
      case CollectiveKind::all_reduce: {
        const std::int64_t count = checked_count(local_sizes(program_, input, group[0]));
        for (std::int64_t i = 0; i < members; ++i) sizes.push_back(part_of(count, members, i).size);
        return sizes;
      }
      case CollectiveKind::all_gather:
      case CollectiveKind::gather:
        for (std::int32_t task : group) sizes.push_back(part_on(input, task));
        return sizes;
      case CollectiveKind::all_to_all:
        for (std::int32_t task : group) append_blocks(sizes, local_sizes(program_, input, task), wanted.dim, members);
        return sizes;
      default:
        for (std::int32_t task : group) sizes.push_back(part_on(output, task));
        return sizes;
    }
  }

  /// Elements of the part that `task` holds; none outside the value's mesh.
  std::int64_t part_on(const PValue& value, std::int32_t task) const {
    return program_.wheres[value.where].has(task) ? checked_count(local_sizes(program_, value, task)) : 0;
  }

  /// Elements of the blocks that a member cuts along `dim`, one for each member.
  static void append_blocks(std::vector<std::int64_t>& sizes, std::vector<std::int64_t> local, std::int16_t dim,
                            std::int64_t members) {
    std::int64_t& extent = local[static_cast<std::size_t>(dim)];
    const std::int64_t whole = extent;
    for (std::int64_t i = 0; i < members; ++i) {
      extent = part_of(whole, members, i).size;
      sizes.push_back(checked_count(local));
    }
  }

  const Program& program_;
  Plan& plan_;
  PlanTables& tables_;
  MessageNumbers numbers_;
};

}  // namespace

MessageNumbers number_messages(const Program& program, Plan& plan, PlanTables& tables) {
  return Numberer(program, plan, tables).run();
}

}  // namespace ferry
