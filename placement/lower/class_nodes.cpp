#include "placement/lower/class_nodes.hpp"

#include <algorithm>

#include "placement/program/parts.hpp"

namespace ferry {

ClassNodes::ClassNodes(const Program& program, const Plan& plan, const MessageNumbers& messages)
    : program_(program), plan_(plan), messages_(messages), of_grouping_(plan.groupings.size()) {
  const std::uint32_t last = *std::max_element(plan.class_of.begin(), plan.class_of.end());
  classes_.resize(last + 1);
  seen_.resize(last + 1, 0);
  for (WhereId id = 0; id < program.wheres.size(); ++id) {
    collect(std::span(&program.wheres[id].tasks, 1), of_where_.emplace_back());
    for (const std::uint32_t plan_class : of_where_.back()) classes_[plan_class].wheres.push_back(id);
  }
  for (ProgramRegionId region = 0; region < program.regions.size(); ++region) walk(region);
}

std::span<const NodeId> ClassNodes::of(std::uint32_t plan_class, ProgramRegionId region) const {
  const OfClass& all = classes_[plan_class];
  const auto at = std::lower_bound(all.begins.begin(), all.begins.end(), std::pair(region, std::size_t{0}));
  if (at == all.begins.end() || at->first != region) return {};
  const std::size_t end = at + 1 == all.begins.end() ? all.nodes.size() : (at + 1)->second;
  return std::span(all.nodes).subspan(at->second, end - at->second);
}

void ClassNodes::walk(ProgramRegionId region) {
  region_ = region;
  for (const NodeId id : program_.regions[region].order) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::transfer && node.inputs == 1) continue;  // walk_transfers() adds it
    add(id);
    walk_transfers(id);
  }
}

void ClassNodes::walk_transfers(NodeId maker) {
  if (!messages_.sent_on[maker]) return;
  for (const NodeId transfer : messages_.transfers_after.at(maker)) {
    add(transfer);
    walk_transfers(transfer);
  }
}

void ClassNodes::add(NodeId id) {
  const Node& node = program_.nodes[id];
  if (node.kind == NodeKind::transfer) {
    const std::uint32_t from = class_of(sender_of(program_, node)), to = class_of(program_.where(node).tasks[0]);
    add(id, from);
    if (to != from) add(id, to);
  } else if (node.kind == NodeKind::collective) {
    const std::vector<std::uint32_t>& numbers = messages_.collectives.at(id);
    if (numbers.size() == 1) {
      for (const std::uint32_t c : of_grouping(plan_.collectives[numbers[0]].grouping)) add(id, c);
      return;
    }
    Classes all;
    for (const std::uint32_t number : numbers) {
      const Classes& some = of_grouping(plan_.collectives[number].grouping);
      all.insert(all.end(), some.begin(), some.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const std::uint32_t c : all) add(id, c);
  } else if (node.where != kNone) {
    for (const std::uint32_t c : of_where_[node.where]) add(id, c);
  }
}

void ClassNodes::add(NodeId node, std::uint32_t plan_class) {
  OfClass& all = classes_[plan_class];
  if (all.begins.empty() || all.begins.back().first != region_) all.begins.emplace_back(region_, all.nodes.size());
  all.nodes.push_back(node);
}

/// Adds the classes of the tasks in the groups, each once.
template <class Groups>
void ClassNodes::collect(const Groups& groups, Classes& classes) {
  ++lists_;
  for (const std::vector<std::int32_t>& group : groups)
    for (const std::int32_t task : group) {
      std::uint32_t& seen = seen_[class_of(task)];
      if (seen != lists_) classes.push_back(class_of(task));
      seen = lists_;
    }
}

const ClassNodes::Classes& ClassNodes::of_grouping(std::uint32_t grouping) {
  Classes& classes = of_grouping_[grouping];
  if (classes.empty()) collect(plan_.groupings[grouping], classes);
  return classes;
}

}  // namespace ferry
