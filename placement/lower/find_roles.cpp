#include "placement/lower/find_roles.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "placement/program/parts.hpp"

namespace ferry {
namespace {

/// Computes the classes: starts with all tasks in one class, and splits classes by one difference after another.
class RoleFinder {
 public:
  RoleFinder(const Program& program, const Plan& plan, const MessageNumbers& messages)
      : program_(program),
        plan_(plan),
        messages_(messages),
        class_of_(static_cast<std::size_t>(program.topology->size())) {
    for (const ProgramRegion& region : program.regions) {
      for (const NodeId id : region.order) add(id);
      for (const PValueId parameter : region.parameters) add(program.values[parameter].producer);
    }
    std::ranges::sort(nodes_);
  }

  std::vector<std::uint32_t> classes() {
    std::vector<std::int32_t> all(class_of_.size());
    std::iota(all.begin(), all.end(), 0);
    split_classes(all, [&](std::size_t i) { return program_.topology->tasks[i].threads; });
    std::set<WhereId> wheres;
    for (const NodeId id : nodes_) wheres.insert(program_.nodes[id].where);
    for (const PValueId value : values_) wheres.insert(program_.values[value].where);
    wheres.erase(kNone);
    for (const WhereId where : wheres) split_classes(program_.wheres[where].tasks, [](std::size_t) { return 0; });
    split_by_part_sizes();
    for (const PValueId value : values_) rows(program_.values[value]);
    split_by_messages();
    number_in_order();
    return std::move(class_of_);
  }

 private:
  void add(NodeId id) {
    nodes_.push_back(id);
    for (const PValueId output : program_.nodes[id].outputs) values_.push_back(output);
  }

  /// Splits each class: the tasks in the list leave the other tasks, and tasks in the list with different values get
  /// different classes.
  template <class ValueAt>
  void split_classes(std::span<const std::int32_t> tasks, const ValueAt& value_at) {
    using Key = std::pair<std::uint32_t, std::int64_t>;
    std::map<Key, std::uint32_t> numbers;
    const std::pair<const Key, std::uint32_t>* last = nullptr;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      std::uint32_t& number = class_of_[tasks[i]];
      const Key key{number, value_at(i)};
      if (last == nullptr || last->first != key) {
        const auto [at, fresh] = numbers.try_emplace(key, next_);
        if (fresh) ++next_;
        last = &*at;
      }
      number = last->second;
    }
  }

  void give_own_class(std::int32_t task) { class_of_[task] = next_++; }

  void split_by_part_sizes() {
    std::set<std::tuple<WhereId, std::int64_t, std::vector<std::size_t>>> splits;  // mesh, size of a dim, its axes
    for (const PValueId id : values_) {
      const PValue& value = program_.values[id];
      for (int dim = 0; dim < value.type.shape.rank(); ++dim) {
        std::vector<std::size_t> axes;
        for (std::size_t axis = 0; axis < value.layout.size(); ++axis)
          if (value.layout[axis] == split(dim)) axes.push_back(axis);
        if (!axes.empty() && !is_even(value.where, value.type.shape[dim].size(), axes))
          splits.emplace(value.where, value.type.shape[dim].size(), std::move(axes));
      }
    }
    for (const auto& split : splits) {
      const auto& [where_id, size, axes] = split;
      const Where& where = program_.wheres[where_id];
      split_classes(where.tasks, [&, whole = size, &cut = axes](std::size_t i) {
        std::int64_t part = whole;
        for (std::size_t axis : cut) part = part_of(part, where.axes[axis], coordinate(where, i, axis)).size;
        return part;
      });
    }
  }

  void rows(const PValue& value) {
    if (value.halo != kNone) {
      const ProgramHalo& halo = program_.halos[value.halo];
      split_by_rows(value, halo.axis, halo.halo.parts, [&](std::int64_t task) { return halo.rows(task); });
    }
    if (value.rows != kNone)
      for (const ProgramRows& rows : program_.rows[value.rows])
        split_by_rows(value, rows.axis, rows.halo.parts,
                      [&](std::int64_t task) { return rows.halo.rows_read(task).size; });
  }

  template <class RowsOf>
  void split_by_rows(const PValue& value, std::size_t axis, std::int64_t parts, const RowsOf& rows_of) {
    const Where& where = program_.wheres[value.where];
    std::vector<std::int64_t> rows;
    for (std::int64_t task = 0; task < parts; ++task) rows.push_back(rows_of(task));
    split_classes(where.tasks, [&](std::size_t i) { return rows[coordinate(where, i, axis)]; });
  }

  /// Whether all parts have the same size.
  [[nodiscard]] bool is_even(WhereId where, std::int64_t size, const std::vector<std::size_t>& axes) const {
    for (std::size_t axis : axes) {
      if (size % program_.wheres[where].axes[axis] != 0) return false;
      size /= program_.wheres[where].axes[axis];
    }
    return true;
  }

  void split_by_messages() {
    std::set<std::pair<std::vector<std::uint32_t>, std::int32_t>> met;  // groupings of a node's collectives, and root
    for (const NodeId id : nodes_) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::transfer && node.where != kNone) {
        give_own_class(sender_of(program_, node));
        give_own_class(program_.where(node).tasks[0]);
      } else if (const auto found = messages_.collectives.find(id); found != messages_.collectives.end()) {
        const ProgramCollective& collective = program_.collectives[node.detail];
        const std::int32_t root = is_rooted(collective.kind) ? collective.members.root : -1;
        std::vector<std::uint32_t> groupings;
        for (std::uint32_t number : found->second) groupings.push_back(plan_.collectives[number].grouping);
        if (met.emplace(groupings, root).second) split_by_collective(groupings, root);
      }
    }
  }

  /// Splits classes by the collective that a task takes part in, and by whether it is a root. One node has several
  /// collectives if its groups are spread differently over hosts, or have parts of different sizes.
  void split_by_collective(const std::vector<std::uint32_t>& groupings, std::int32_t root) {
    std::vector<std::int32_t> tasks, roots;
    std::vector<std::size_t> values;
    for (std::size_t k = 0; k < groupings.size(); ++k)
      for (const auto& group : plan_.groupings[groupings[k]]) {
        tasks.insert(tasks.end(), group.begin(), group.end());
        values.resize(tasks.size(), k);
        if (root >= 0) roots.push_back(group[root]);
      }
    split_classes(tasks, [&](std::size_t i) { return static_cast<std::int64_t>(values[i]); });
    split_classes(roots, [](std::size_t) { return 0; });
  }

  void number_in_order() {
    std::vector<std::uint32_t> numbers(next_, kNone);
    std::uint32_t count = 0;
    for (std::uint32_t& number : class_of_) {
      if (numbers[number] == kNone) numbers[number] = count++;
      number = numbers[number];
    }
  }

  const Program& program_;
  const Plan& plan_;
  const MessageNumbers& messages_;
  std::vector<NodeId> nodes_;     ///< the nodes in the orders of all regions; excludes nodes that passes have removed
  std::vector<PValueId> values_;  ///< outputs of nodes_
  std::vector<std::uint32_t> class_of_;
  std::uint32_t next_ = 1;  ///< the next free number
};

}  // namespace

std::vector<std::uint32_t> find_roles(const Program& program, const Plan& plan, const MessageNumbers& messages) {
  return RoleFinder(program, plan, messages).classes();
}

}  // namespace ferry
