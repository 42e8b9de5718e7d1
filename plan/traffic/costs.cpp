#include "plan/traffic/costs.hpp"

#include <limits>

#include "plan/traffic/class_traffic.hpp"

namespace ferry {
namespace {

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

/// Calls f(instruction) for all instructions of all classes, except in setup regions.
template <class F>
void each_of_steps(const Plan& plan, F f) {
  for (const PlanClass& role : plan.classes)
    for (const Region& region : role.regions)
      for (std::uint32_t i = 0; region.kind != Region::Kind::setup && i < region.instructions.count; ++i)
        f(role.instructions[region.instructions[i]]);
}

}  // namespace

std::vector<MessageCost> message_costs(const Plan& plan) {
  std::vector<bool> sent(plan.channels.size()), joined(plan.collectives.size());
  each_of_steps(plan, [&](const Instruction& instruction) {
    if (instruction.what == Opcode::send) sent[instruction.channel()] = true;
    if (instruction.what == Opcode::collective) joined[instruction.collective()] = true;
  });
  std::vector<MessageCost> costs;
  for (std::size_t c = 0; c < sent.size(); ++c)
    if (const Channel& channel = plan.channels[c]; sent[c])
      costs.push_back({std::string(plan.string(channel.name)), plan.line(channel.line), 1,
                       static_cast<std::int64_t>(channel.bytes)});
  for (std::size_t c = 0; c < joined.size(); ++c) {
    if (!joined[c]) continue;
    const Collective& collective = plan.collectives[c];
    MessageCost cost{std::string(plan.string(collective.name)), plan.line(collective.line)};
    for (const Traffic& member : traffic_of_members(plan.schedules[collective.schedule], collective.parts)) {
      cost.messages += member.sent_messages;
      cost.bytes +=
          (member.sent_bytes + member.collective_bytes) * static_cast<std::int64_t>(size_of(collective.dtype));
    }
    const auto groups = static_cast<std::int64_t>(plan.groupings[collective.grouping].size());
    cost.messages *= groups;
    cost.bytes *= groups;
    costs.push_back(std::move(cost));
  }
  return costs;
}

std::int64_t copies_of(const Plan& plan) {
  ClassTraffic traffic(plan);
  std::int64_t copies = 0;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c)
    for (std::uint32_t r = 0; r < plan.classes[c].regions.size(); ++r)
      if (plan.classes[c].regions[r].kind != Region::Kind::setup) copies += traffic.of(c, r).copies;
  return copies;
}

std::uint64_t memory_of(const PlanClass& role) {
  std::uint64_t bytes = 0;
  for (const PlanDevice& device : role.devices) bytes = sum(bytes, sum(device.step_bytes, device.state_bytes));
  return bytes;
}

}  // namespace ferry
