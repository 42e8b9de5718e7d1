#include "placement/messages/regroup.hpp"

#include <algorithm>

#include "base/system/cache_lines.hpp"
#include "placement/layout/conversion.hpp"

namespace ferry {

void Regroup::begin_region(ProgramRegionId region) {
  region_ = region;
  place_.clear();
  after_.clear();
  const std::vector<NodeId>& order = program_.regions[region].order;
  for (std::size_t at = 0; at < order.size(); ++at) place_[order[at]] = at;
  if (used_.empty()) used_ = first_uses(program_);
  find_views();
}

void Regroup::find_views() {
  views_.clear();
  for (const NodeId id : program_.regions[region_].order)
    if (const Node& node = program_.nodes[id]; is_view(node))
      views_[program_.values[program_.stored(node.outputs[0])].producer].push_back(id);
}

std::size_t Regroup::place(NodeId node) const {
  const auto found = place_.find(node);
  return found == place_.end() ? kNowhere : found->second;
}

std::size_t Regroup::used(PValueId value) const {
  return used_[value] == kNone ? kNowhere : used_[value];
}

void Regroup::move_after(NodeId node, std::size_t place) {
  after_[place].push_back(node);
  moved_.insert(node);
}

std::int64_t Regroup::bytes_of(NodeId message) const {
  const PValue& value = program_.values[program_.inputs(program_.nodes[message])[0]];
  return part_bytes(value.type, value.layout, program_.wheres[value.where]);
}

NodeId Regroup::join(std::vector<NodeId> messages, std::size_t place) {
  // Values of whole cache lines come first, so that the value after each of them begins at a cache line, too.
  std::stable_partition(messages.begin(), messages.end(), [&](NodeId id) { return bytes_of(id) % kCacheLine == 0; });
  std::vector<PValueId> values, results;
  std::vector<Type> types;
  for (const NodeId id : messages) {
    values.push_back(program_.inputs(program_.nodes[id])[0]);
    results.push_back(program_.nodes[id].outputs[0]);
    types.push_back(program_.values[results.back()].type);
    moved_.insert(id);
  }
  const NodeId joined = program_.add(Node(program_.nodes[messages[0]]), values, types);
  if (const auto turn = program_.turns.find(messages[0]); turn != program_.turns.end())
    program_.turns[joined] = ProgramTurn(turn->second);
  for (const NodeId id : messages)
    if (const auto reason = program_.reason_of.find(id); reason != program_.reason_of.end())
      program_.reasons[reason->second].message = joined;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const PValueId fresh = program_.nodes[joined].outputs[static_cast<PValueId>(k)];
    program_.values[fresh] = program_.values[results[k]];
    program_.values[fresh].producer = joined;
    renamed_[results[k]] = fresh;
  }
  move_after(joined, place);
  for (const NodeId id : messages)
    for (const NodeId view : views_[id]) move_after(view, place);
  return joined;
}

void Regroup::end_region() {
  if (after_.empty()) return;
  std::vector<NodeId>& order = program_.regions[region_].order;
  std::vector<NodeId> result;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (!moved_.contains(order[at])) result.push_back(order[at]);
    if (const auto found = after_.find(at); found != after_.end())
      result.insert(result.end(), found->second.begin(), found->second.end());
  }
  order = std::move(result);
}

void Regroup::finish() {
  if (renamed_.empty()) return;
  for (PValueId& operand : program_.operands) rename(operand);
  for (ProgramRegion& region : program_.regions)
    for (PValueId& result : region.results) rename(result);
}

void Regroup::rename(PValueId& value) const {
  if (const auto found = renamed_.find(value); found != renamed_.end()) value = found->second;
}

}  // namespace ferry
