#include "placement/messages/number_messages.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "placement/messages/choose_chunks.hpp"
#include "placement/messages/choose_schedule.hpp"
#include "placement/program/parts.hpp"
#include "placement/program/users.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kExtentBytes = 8;
/// Maximum number of parts of all all-to-alls of a plan together; the plan takes 8 bytes for each part.
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 26;

/// Numbers the channels and collectives in global order.
class Numberer {
 public:
  Numberer(const Program& program, Plan& plan, PlanTables& tables, HostPatterns& hosts)
      : program_(program), plan_(plan), tables_(tables), hosts_(hosts) {}

  MessageNumbers run() {
    numbers_.sent_on.resize(program_.nodes.size());
    numbers_.carried.resize(program_.values.size());
    place_.resize(program_.nodes.size());
    region(0);
    return std::move(numbers_);
  }

 private:
  void region(ProgramRegionId id) {
    std::uint32_t at = 0;
    for (NodeId node_id : program_.regions[id].order) {
      const Node& node = program_.nodes[node_id];
      place_[node_id] = at++;
      if (node.kind == NodeKind::transfer) {
        channels(node_id, id == 0);
        mark_carried(node);
      } else if (node.kind == NodeKind::collective) {
        collective(node_id);
        mark_carried(node);
      } else if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) {
        region(node.detail);
        region(node.detail + 1);
      }
    }
  }

  void mark_carried(const Node& message) {
    for (PValueId value : program_.inputs(message)) {
      while (!numbers_.carried[value]) {
        numbers_.carried[value] = true;
        const Node& made = program_.nodes[program_.values[value].producer];
        const bool is_view = made.kind == NodeKind::compute && made.def->is(kView);
        if (is_view || program_.is_member(made)) value = program_.inputs(made)[0];
      }
    }
  }

  void channels(NodeId id, bool in_step) {
    const Node& node = program_.nodes[id];
    const PValue& value = program_.values[node.outputs[0]];
    Channel channel;
    channel.from = sender_of(program_, node);
    channel.to = program_.where(node).tasks[0];
    channel.dtype = value.type.dtype;
    channel.name = name_of(node);
    channel.line = tables_.line(program_.line(node));
    const auto first = static_cast<std::uint32_t>(plan_.channels.size());
    for (const std::uint64_t bytes : messages_of(id, in_step)) {
      channel.bytes = bytes;
      plan_.channels.push_back(channel);
      numbers_.spans.push_back({place_[source_node(id)], first_use(node)});
    }
    numbers_.channels[id] = {first, static_cast<std::uint32_t>(plan_.channels.size()) - first};
    const PValueId sent = program_.inputs(node)[0];
    if (node.inputs > 1) return;
    numbers_.transfers_after[program_.values[sent].producer].push_back(id);
    numbers_.sent_on[program_.values[sent].producer] = true;
  }

  /// The bytes of each message of a transfer. Only a transfer in the step is cut into chunks: in a loop's body or a
  /// branch, copies do not overlap with messages.
  std::vector<std::uint64_t> messages_of(NodeId id, bool in_step) const {
    const Node& node = program_.nodes[id];
    std::vector<std::uint64_t> bytes;
    if (in_step && node.inputs == 1)
      for (const std::int64_t elements : choose_chunks(program_, users_, id))
        bytes.push_back(static_cast<std::uint64_t>(elements) * size_of(program_.values[node.outputs[0]].type.dtype));
    if (bytes.size() > 1) return bytes;
    std::uint64_t all = 0;
    for (const PValueId output : node.outputs) all += message_bytes(program_.values[output].type);
    return {all};
  }

  /// The node after which a transfer starts, which is the node that makes its value. If that value comes by transfers
  /// of a single value, follows them back to their source.
  NodeId source_node(NodeId id) const {
    for (;;) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::transfer || node.inputs > 1) return id;
      id = program_.values[program_.inputs(node)[0]].producer;
    }
  }

  std::uint32_t first_use(const Node& node) const {
    std::uint32_t first = kNone;
    for (const PValueId output : node.outputs) first = std::min(first, used_[output]);
    return first;
  }

  std::uint32_t name_of(const Node& node) {
    if (node.inputs > 1) return tables_.string(program_.name(node));
    const PValue& value = program_.values[program_.inputs(node)[0]];
    return tables_.value_name(*value.graph, value.value);
  }

  static std::uint64_t message_bytes(const Type& type) {
    return static_cast<std::uint64_t>(type.bytes()) + (type.shape.bounded() ? kExtentBytes : 0);
  }

  /// Groups that have parts of equal sizes and are spread over hosts in the same pattern.
  struct EqualGroups {
    std::vector<std::int64_t> parts;
    std::uint32_t pattern = 0;   ///< index in HostPatterns::OfGrouping::patterns
    std::uint32_t grouping = 0;  ///< index in Plan::groupings
  };

  void collective(NodeId id) {
    const Node& node = program_.nodes[id];
    const ProgramCollective& wanted = program_.collectives[node.detail];
    require_room(node, wanted);
    for (EqualGroups& groups : equal_groups(node, wanted)) {
      Collective collective;
      const Type& type = program_.values[node.outputs[0]].type;
      collective.dtype = type.shape.bounded() ? DType::uint8 : type.dtype;  // sent as bytes, with the extent
      const std::int64_t elements = std::accumulate(groups.parts.begin(), groups.parts.end(), std::int64_t{0});
      const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(collective.dtype));
      if (const std::optional<Schedule> of_gpus = on_gpus(node, wanted, groups, collective.dtype, bytes)) {
        collective.schedule = tables_.schedule(*of_gpus);
        collective.gpu = static_cast<std::uint32_t>(program_.where(node).index);
      } else if (split_value(node, wanted.kind).halo != kNone) {
        collective.schedule = tables_.schedule(sparse_exchange(members_of(wanted), groups.parts));
      } else {
        collective.schedule = schedule(wanted, groups.pattern, bytes);
      }
      collective.grouping = groups.grouping;
      collective.reduce = wanted.reduce;
      const bool whole = plan_.schedules[collective.schedule].whole;
      collective.parts = whole ? std::vector<std::int64_t>{elements} : std::move(groups.parts);
      collective.name = name_of(node);
      collective.line = tables_.line(program_.line(node));
      numbers_.collectives[id].push_back(static_cast<std::uint32_t>(plan_.collectives.size()));
      plan_.collectives.push_back(std::move(collective));
    }
  }

  int members_of(const ProgramCollective& wanted) const {
    return static_cast<int>(program_.groupings[wanted.members.grouping][0].size());
  }

  /// Throws Error(plan) if the plan's all-to-alls would have too many parts, before the parts are made. An all-to-all
  /// has a part for each pair of members.
  void require_room(const Node& node, const ProgramCollective& wanted) {
    if (wanted.kind != CollectiveKind::all_to_all) return;
    const std::int64_t members = members_of(wanted);
    blocks_ += members * members;
    if (blocks_ <= kMostBlocks) return;
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(std::int64_t));
    throw Error(Code::plan, "an all-to-all of '" + program_.name(program_.inputs(node)[0]) + "' over " +
                                std::to_string(members) + " tasks has " + std::to_string(members * members) +
                                " parts; with the parts of other ones the plan would take " +
                                std::to_string(blocks_ * kBytes) + " bytes for them, of " +
                                std::to_string(kMostBlocks * kBytes))
        .at(program_.line(node))
        .hint("lay the value out over a mesh of two axes, or keep one layout");
  }

  /// Splits the groups of a collective into alike groups, sorted by their parts, then by pattern.
  std::vector<EqualGroups> equal_groups(const Node& node, const ProgramCollective& wanted) {
    const std::uint32_t grouping = wanted.members.grouping;
    const Grouping& groups = program_.groupings[grouping];
    const HostPatterns::OfGrouping& patterns = hosts_.of(grouping);
    std::vector<EqualGroups> result;
    if (parts_are_equal(node, wanted.kind)) {
      const std::vector<std::int64_t> sizes = parts(node, wanted, groups[0]);
      for (std::uint32_t p = 0; p < patterns.patterns.size(); ++p)
        result.push_back({sizes, p, groups_with_pattern(grouping, p)});
      return result;
    }
    std::map<std::pair<std::vector<std::int64_t>, std::uint32_t>, Grouping> found;
    for (std::size_t g = 0; g < groups.size(); ++g)
      found[{parts(node, wanted, groups[g]), patterns.of_group[g]}].push_back(groups[g]);
    for (const auto& [key, equal_groups] : found)
      result.push_back({key.first, key.second, tables_.grouping(equal_groups)});
    return result;
  }

  /// The index in the plan of the groupings' groups with this pattern.
  std::uint32_t groups_with_pattern(std::uint32_t grouping, std::uint32_t pattern) {
    const auto [at, fresh] = groupings_.try_emplace({grouping, pattern});
    if (!fresh) return at->second;
    const HostPatterns::OfGrouping& patterns = hosts_.of(grouping);
    Grouping groups;
    for (std::size_t g = 0; g < patterns.of_group.size(); ++g)
      if (patterns.of_group[g] == pattern) groups.push_back(program_.groupings[grouping][g]);
    return at->second = tables_.grouping(groups);
  }

  /// The index in the plan of the schedule for groups with this pattern.
  std::uint32_t schedule(const ProgramCollective& wanted, std::uint32_t pattern, std::int64_t bytes) {
    const Members& members = wanted.members;
    const auto [at, fresh] =
        schedules_.try_emplace({wanted.kind, members.grouping, pattern, members.root, members.guest_root, bytes});
    if (!fresh) return at->second;
    return at->second = tables_.schedule(choose_schedule({.kind = wanted.kind,
                                                          .hosts = hosts_.of(members.grouping).patterns[pattern],
                                                          .root = members.root,
                                                          .guest_root = members.guest_root,
                                                          .bytes = bytes,
                                                          .share_memory = share_memory(members.grouping, pattern)},
                                                         *program_.topology));
  }

  /// Whether the members of every group with this pattern share memory. False for a group of one member.
  bool share_memory(std::uint32_t grouping, std::uint32_t pattern) const {
    return all_satisfy(grouping, pattern, [&](const auto& group) { return program_.topology->share_memory(group); });
  }

  /// Whether every group with this pattern has several members and satisfies `joins`.
  template <class F>
  bool all_satisfy(std::uint32_t grouping, std::uint32_t pattern, F joins) const {
    const Grouping& groups = program_.groupings[grouping];
    const std::vector<std::uint32_t>& pattern_of = hosts_.of(grouping).of_group;
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (pattern_of[g] == pattern && (groups[g].size() == 1 || !joins(groups[g]))) return false;
    return true;
  }

  /// Whether the GPU library of the members can move the values. All values must be on GPUs that have the same index on
  /// each task, and these GPUs must be able to work together.
  bool between_gpus(const Node& node, const ProgramCollective& wanted, std::uint32_t pattern) const {
    const PValue& out = program_.values[node.outputs[0]];
    const Where& where = program_.wheres[out.where];
    if (where.kind != DeviceKind::gpu || out.type.shape.bounded()) return false;
    for (const PValueId input : program_.inputs(node)) {
      const Where& from = program_.wheres[program_.values[input].where];
      if (from.kind != DeviceKind::gpu || from.index != where.index) return false;
    }
    return all_satisfy(wanted.members.grouping, pattern,
                       [&](const auto& group) { return program_.topology->join_gpus(group); });
  }

  /// True if the library can do the whole collective. It cannot do sums in ferry's own order, in parts of different
  /// sizes, or with a root that contributes nothing.
  bool may_use_library(const ProgramCollective& wanted, const EqualGroups& groups, DType dtype) const {
    if (wanted.reduce == Reduce::none) return true;
    if (program_.options.one_host || !folds_like_ferry(wanted.reduce, dtype)) return false;
    if (wanted.kind == CollectiveKind::reduce && wanted.members.guest_root) return false;
    return wanted.kind != CollectiveKind::reduce_scatter ||
           std::ranges::all_of(groups.parts, [&](auto part) { return part == groups.parts[0]; });
  }

  /// The schedule by which the members' GPUs do the collective without the hosts, or nullopt if they cannot.
  std::optional<Schedule> on_gpus(const Node& node, const ProgramCollective& wanted, const EqualGroups& groups,
                                  DType dtype, std::int64_t bytes) {
    const Members& members = wanted.members;
    if (!between_gpus(node, wanted, groups.pattern)) return std::nullopt;
    if (may_use_library(wanted, groups, dtype))
      return library_schedule(wanted.kind, members_of(wanted), members.root, members.guest_root);
    if (members_of(wanted) > kMostFolded) return std::nullopt;
    return choose_folded({.kind = wanted.kind,
                          .hosts = hosts_.of(members.grouping).patterns[groups.pattern],
                          .root = members.root,
                          .guest_root = members.guest_root,
                          .bytes = bytes},
                         *program_.topology);
  }

  /// True if libraries of GPUs fold elements of `dtype` like ferry. They lack 16-bit integers and bool, and they treat
  /// NaN in max and min differently.
  static bool folds_like_ferry(Reduce reduce, DType dtype) {
    if (dtype == DType::boolean || dtype == DType::int16 || dtype == DType::uint16) return false;
    return reduce == Reduce::sum || !is_float(dtype);
  }

  /// Whether the parts have the same sizes in all groups.
  bool parts_are_equal(const Node& node, CollectiveKind kind) const {
    const auto inputs = program_.inputs(node);
    if (inputs.size() == 1) {
      const PValue& cut = split_value(node, kind);
      return is_even(program_, cut, cut.halo == kNone ? kNone : program_.halos[cut.halo].axis);
    }
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](PValueId input) { return is_even(program_, program_.values[input]); });
  }

  /// The value with the parts that the collective moves.
  const PValue& split_value(const Node& node, CollectiveKind kind) const {
    const bool into_parts = kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::scatter;
    return program_.values[into_parts ? PValueId(node.outputs[0]) : program_.inputs(node)[0]];
  }

  /// The sizes of the parts in elements, as Schedule defines them for the kind (an all_reduce counts as not `whole`).
  std::vector<std::int64_t> parts(const Node& node, const ProgramCollective& wanted,
                                  const std::vector<std::int32_t>& group) const {
    const PValue& value = split_value(node, wanted.kind);
    const auto members = static_cast<std::int64_t>(group.size());
    std::vector<std::int64_t> sizes;
    switch (wanted.kind) {
      case CollectiveKind::broadcast:
        if (value.type.shape.bounded()) return {static_cast<std::int64_t>(message_bytes(value.type))};
        return {part_on(value, group[wanted.members.root])};
      case CollectiveKind::reduce:
        return {count_on(node, group[0])};
      case CollectiveKind::all_reduce: {
        const std::int64_t count = count_on(node, group[0]);
        for (std::int64_t i = 0; i < members; ++i) sizes.push_back(part_of(count, members, i).size);
        return sizes;
      }
      case CollectiveKind::all_to_all:
        for (std::int64_t m = 0; m < members; ++m) {
          std::vector<std::int64_t> local = local_sizes(program_, value, group[m]);
          if (value.halo == kNone)
            append_blocks(sizes, std::move(local), wanted.dim, members);
          else
            append_rows(sizes, std::move(local), program_.halos[value.halo], m);
        }
        return sizes;
      default:
        for (std::int32_t task : group) sizes.push_back(part_on(value, task));
        return sizes;
    }
  }

  /// Elements that `task` contributes to a sum of one or several values.
  std::int64_t count_on(const Node& node, std::int32_t task) const {
    std::int64_t count = 0;
    for (const PValueId input : program_.inputs(node))
      count += checked_count(local_sizes(program_, program_.values[input], task));
    return count;
  }

  /// Elements of the part that `task` holds; 0 outside the value's mesh.
  std::int64_t part_on(const PValue& value, std::int32_t task) const {
    return program_.wheres[value.where].has(task) ? checked_count(local_sizes(program_, value, task)) : 0;
  }

  /// Appends the elements of the blocks into which one member's part is cut along `dim`, one block for each member.
  static void append_blocks(std::vector<std::int64_t>& sizes, std::vector<std::int64_t> local, std::int16_t dim,
                            std::int64_t members) {
    std::int64_t& extent = local[dim];
    const std::int64_t whole = extent;
    for (std::int64_t i = 0; i < members; ++i) {
      extent = part_of(whole, members, i).size;
      sizes.push_back(checked_count(local));
    }
  }

  /// Appends the numbers of elements that `task` sends to each member, in rows; 0 for itself.
  static void append_rows(std::vector<std::int64_t>& sizes, std::vector<std::int64_t> local, const ProgramHalo& given,
                          std::int64_t task) {
    for (std::int64_t other = 0; other < given.halo.parts; ++other) {
      local[given.dim] = other == task ? 0 : given.halo.rows_between(task, other).size;
      sizes.push_back(checked_count(local));
    }
  }

  const Program& program_;
  Plan& plan_;
  PlanTables& tables_;
  HostPatterns& hosts_;
  MessageNumbers numbers_;
  std::int64_t blocks_ = 0;                                       // parts of all-to-alls so far
  const std::vector<std::uint32_t> used_ = first_uses(program_);  // for each value
  const Users users_{program_};
  std::vector<std::uint32_t> place_;                                            // for each node
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> groupings_;  // by grouping and pattern
  std::map<std::tuple<CollectiveKind, std::uint32_t, std::uint32_t, std::int32_t, bool, std::int64_t>, std::uint32_t>
      schedules_;
};

}  // namespace

MessageNumbers number_messages(const Program& program, Plan& plan, PlanTables& tables, HostPatterns& hosts) {
  return Numberer(program, plan, tables, hosts).run();
}

}  // namespace ferry
