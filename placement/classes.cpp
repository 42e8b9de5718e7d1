#include "placement/classes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "placement/choose_schedule.hpp"

namespace ferry {
namespace {

std::int64_t coordinate(const Where& where, std::size_t position, std::size_t axis) {
  auto rest = static_cast<std::int64_t>(position);
  for (std::size_t a = where.axes.size(); a > axis + 1; --a) rest /= where.axes[a - 1];
  return rest % where.axes[axis];
}

/// What tells the tasks apart, as a list of numbers for each.
class Roles {
 public:
  explicit Roles(const Program& program)
      : program_(program), keys_(static_cast<std::size_t>(program.topology->size())) {}

  std::vector<std::uint32_t> classes() {
    device_sets();
    part_sizes();
    ends();
    std::map<std::vector<std::int64_t>, std::uint32_t> numbers;
    std::vector<std::uint32_t> result;
    for (std::size_t task = 0; task < keys_.size(); ++task) {
      keys_[task].push_back(program_.topology->tasks[task].threads);
      result.push_back(numbers.try_emplace(keys_[task], static_cast<std::uint32_t>(numbers.size())).first->second);
    }
    return result;
  }

 private:
  enum Trait : std::int64_t { in_devices, has_part, sends, receives, takes_part, is_root };

  /// `which` device set, split or node it is; all three are kept, so that different traits never look alike.
  void mark(std::int32_t task, Trait trait, std::size_t which, std::int64_t value = 0) {
    std::vector<std::int64_t>& key = keys_[static_cast<std::size_t>(task)];
    key.insert(key.end(), {trait, static_cast<std::int64_t>(which), value});
  }

  void device_sets() {
    for (std::size_t w = 0; w < program_.wheres.size(); ++w)
      for (std::int32_t task : program_.wheres[w].tasks) mark(task, in_devices, w);
  }

  void part_sizes() {
    std::set<std::tuple<WhereId, std::int64_t, std::vector<std::size_t>>> splits;  // size of a dim, axes that split it
    for (const PValue& value : program_.values)
      for (std::int16_t dim = 0; dim < value.type.shape.rank(); ++dim) {
        std::vector<std::size_t> axes;
        for (std::size_t axis = 0; axis < value.layout.size(); ++axis)
          if (value.layout[axis] == split(dim)) axes.push_back(axis);
        if (!axes.empty()) splits.emplace(value.where, value.type.shape[dim].size(), std::move(axes));
      }
    std::size_t number = 0;
    for (const auto& [where_id, size, axes] : splits) {
      const Where& where = program_.wheres[where_id];
      for (std::size_t i = 0; i < where.tasks.size(); ++i) {
        std::int64_t part = size;
        for (std::size_t axis : axes) part = part_of(part, where.axes[axis], coordinate(where, i, axis)).size;
        mark(where.tasks[i], has_part, number, part);
      }
      ++number;
    }
  }

  void ends() {
    for (std::size_t id = 0; id < program_.nodes.size(); ++id) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::transfer && node.where != kNone) {
        mark(sender_of(program_, node), sends, id);
        mark(program_.where(node).tasks[0], receives, id);
      } else if (node.kind == NodeKind::collective) {
        const ProgramCollective& collective = program_.collectives[node.detail];
        std::map<std::vector<std::int32_t>, std::int64_t> patterns;  // groups on hosts in another way do it otherwise
        for (const auto& group : program_.groupings[collective.members.grouping]) {
          const auto next = static_cast<std::int64_t>(patterns.size());
          const std::int64_t pattern =
              patterns.try_emplace(host_pattern(group, *program_.topology), next).first->second;
          for (std::int32_t task : group) mark(task, takes_part, id, pattern);
          if (is_rooted(collective.kind)) mark(group[static_cast<std::size_t>(collective.members.root)], is_root, id);
        }
      }
    }
  }

  const Program& program_;
  std::vector<std::vector<std::int64_t>> keys_;
};

}  // namespace

std::vector<std::int64_t> local_sizes(const Program& program, const PValue& value, std::int32_t task) {
  std::vector<std::int64_t> sizes = value.type.shape.sizes();
  const Where& where = program.wheres[value.where];
  const auto position =
      static_cast<std::size_t>(std::find(where.tasks.begin(), where.tasks.end(), task) - where.tasks.begin());
  for (std::size_t axis = 0; axis < value.layout.size(); ++axis) {
    if (value.layout[axis].kind != AxisLayout::Kind::split) continue;
    std::int64_t& size = sizes[static_cast<std::size_t>(value.layout[axis].dim)];
    size = part_of(size, where.axes[axis], coordinate(where, position, axis)).size;
  }
  return sizes;
}

std::vector<std::uint32_t> task_classes(const Program& program) {
  return Roles(program).classes();
}

std::int32_t sender_of(const Program& program, const Node& transfer) {
  return program.wheres[program.values[program.inputs(transfer)[0]].where].tasks[0];
}

}  // namespace ferry
