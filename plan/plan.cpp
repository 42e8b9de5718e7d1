#include "plan/plan.hpp"

#include <algorithm>

namespace ferry {

Traffic& Traffic::operator+=(const Traffic& other) {
  sent_messages += other.sent_messages;
  sent_bytes += other.sent_bytes;
  received_messages += other.received_messages;
  received_bytes += other.received_bytes;
  copies += other.copies;
  collective_bytes += other.collective_bytes;
  return *this;
}

std::int64_t tiled_elements(const PlanClass& plan, const Instruction& tiles) {
  std::int64_t most = 0;
  const Range members = plan.regions[tiles.region()].instructions;
  for (const std::uint32_t m : members)
    for (const Range range : {plan.instructions[m].inputs, plan.instructions[m].outputs})
      for (const BufferId b : plan.operands_of(range)) {
        const Buffer& buffer = plan.buffers[b];
        if (buffer.space != Buffer::Space::none) most = std::max(most, elements_of(buffer));
      }
  return most;
}

Membership membership(const Grouping& grouping, int task) {
  for (const std::vector<std::int32_t>& group : grouping) {
    const auto found = std::find(group.begin(), group.end(), task);
    if (found != group.end()) return {&group, static_cast<int>(found - group.begin())};
  }
  return {};
}

}  // namespace ferry
