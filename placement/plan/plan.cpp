#include "placement/plan/plan.hpp"

#include <algorithm>

#include "placement/plan/places.hpp"

namespace ferry {
namespace {

Traffic traffic_of_collective(const Plan& plan, const Collective& collective, int task) {
  const Schedule& schedule = plan.schedules[collective.schedule];
  const int member = membership(plan.groupings[collective.grouping], task).member;
  if (member < 0) return {};
  const auto size = static_cast<std::int64_t>(size_of(collective.dtype));
  return {.sent_messages = schedule.sends_of(member),
          .sent_bytes = schedule.sent_elements(collective.parts, member) * size,
          .received_messages = schedule.receives_of(member),
          .received_bytes = schedule.received_elements(collective.parts, member) * size};
}

Traffic traffic_of(const Plan& plan, const Instruction& instruction, int task) {
  switch (instruction.what) {
    case Opcode::send:
      return {.sent_messages = 1, .sent_bytes = static_cast<std::int64_t>(plan.channels[instruction.target].bytes)};
    case Opcode::receive:
      return {.received_messages = 1,
              .received_bytes = static_cast<std::int64_t>(plan.channels[instruction.target].bytes)};
    case Opcode::collective:
      return traffic_of_collective(plan, plan.collectives[instruction.target], task);
    case Opcode::copy:
      return {.copies = 1};
    default:
      return {};
  }
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  sent_messages += other.sent_messages;
  sent_bytes += other.sent_bytes;
  received_messages += other.received_messages;
  received_bytes += other.received_bytes;
  copies += other.copies;
  return *this;
}

Traffic traffic_of(const Plan& plan, int task, std::uint32_t region) {
  const PlanClass& role = plan.class_for(task);
  const Range range = role.regions[region].instructions;
  Traffic total;
  for (std::uint32_t i = range.begin; i < range.begin + range.count; ++i)
    total += traffic_of(plan, role.instructions[i], task);
  return total;
}

std::int64_t tiled_elements(const PlanClass& plan, const Instruction& tiles) {
  std::int64_t most = 0;
  const Range members = plan.regions[tiles.target].instructions;
  for (std::uint32_t m = members.begin; m < members.begin + members.count; ++m)
    for (const Range range : {plan.instructions[m].inputs, plan.instructions[m].outputs})
      for (std::uint32_t k = 0; k < range.count; ++k) {
        const Buffer& buffer = plan.buffers[plan.operands[range.begin + k]];
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

std::vector<std::int64_t> begin_of(const Plan& plan, const Window& window, int task) {
  return begin_at(window, [&](std::uint32_t grouping) { return membership(plan.groupings[grouping], task); });
}

}  // namespace ferry
