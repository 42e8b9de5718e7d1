// Mutations of channels, of their ends and of the waits for them.
#include <iterator>
#include <utility>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

/// Two sends of one class exchange their channels: each sends the other's value.
bool swap_sends(Plan& plan, Dice& dice) {
  const std::vector<At> sends = all_of(plan, Opcode::send);
  std::vector<std::pair<At, At>> pairs;
  for (const At& a : sends)
    for (const At& b : sends)
      if (a.plan_class == b.plan_class && a.index < b.index &&
          operand(a.of(plan), a.in(plan).inputs, 0) != operand(b.of(plan), b.in(plan).inputs, 0))
        pairs.emplace_back(a, b);
  const auto* pair = one_of(pairs, dice);
  if (pair != nullptr) std::swap(pair->first.in(plan).target, pair->second.in(plan).target);
  return pair != nullptr;
}

bool drop_send(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Opcode::send);
}
bool drop_send_wait(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Opcode::send_wait);
}
bool drop_receive(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Opcode::receive);
}
bool drop_receive_wait(Plan& plan, Dice& dice) {
  return drop_one(plan, dice, Opcode::receive_wait);
}

constexpr std::pair<Opcode, Opcode> kStartsAndWaits[] = {{Opcode::send, Opcode::send_wait},
                                                         {Opcode::receive, Opcode::receive_wait},
                                                         {Opcode::collective, Opcode::collective_wait}};

/// A wait comes before the start of its message.
bool early_wait(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, std::size_t>> moves;
  for (const auto& [starting, waiting] : kStartsAndWaits)
    for (const At& wait : all_of(plan, waiting))
      for (std::size_t k = 0; k < wait.index; ++k) {
        const Instruction& start = wait.of(plan).instructions[k];
        if (start.what == starting && start.target == wait.in(plan).target) moves.emplace_back(wait, k);
      }
  const auto* found = one_of(moves, dice);
  if (found != nullptr) move(found->first.of(plan), found->first.index, found->second);
  return found != nullptr;
}

/// What a message or collective brings is used before the wait for it.
bool late_wait(Plan& plan, Dice& dice, Opcode what) {
  std::vector<std::pair<At, std::size_t>> moves;
  for (const At& wait : all_of(plan, what)) {
    const PlanClass& c = wait.of(plan);
    if (wait.in(plan).outputs.count == 0) continue;
    const std::uint32_t buffer = storage(c, operand(c, wait.in(plan).outputs, 0));
    const Range range = c.regions[region_of(c, wait.index)].instructions;
    if (c.buffers[buffer].bytes == 0) continue;
    for (std::size_t k = wait.index + 1; k < range.first + range.count; ++k) {
      const Instruction& i = c.instructions[k];
      bool reads = false;
      for (std::uint32_t n = 0; n < i.inputs.count; ++n) reads = reads || storage(c, operand(c, i.inputs, n)) == buffer;
      if (reads && i.what != Opcode::loop) moves.emplace_back(wait, k);
    }
  }
  const auto* found = one_of(moves, dice);
  if (found != nullptr) move(found->first.of(plan), found->first.index, found->second);
  return found != nullptr;
}

bool late_receive_wait(Plan& plan, Dice& dice) {
  return late_wait(plan, dice, Opcode::receive_wait);
}
bool late_collective_wait(Plan& plan, Dice& dice) {
  return late_wait(plan, dice, Opcode::collective_wait);
}

Channel* a_channel(Plan& plan, Dice& dice) {
  return plan.channels.empty() ? nullptr : &plan.channels[dice.below(plan.channels.size())];
}

bool wrong_sender(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->from = (channel->from + 1) % plan.topology.size();
  return channel != nullptr;
}
bool wrong_receiver(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->to = (channel->to + 1) % plan.topology.size();
  return channel != nullptr;
}
bool wrong_channel_size(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr)
    channel->bytes = dice.one_in(2) && channel->bytes > 0 ? channel->bytes - 1 : channel->bytes + 4;
  return channel != nullptr;
}
bool wrong_channel_dtype(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->dtype = other_dtype(channel->dtype);
  return channel != nullptr;
}
bool no_slots(Plan& plan, Dice& dice) {
  Channel* channel = a_channel(plan, dice);
  if (channel != nullptr) channel->slots = 0;
  return channel != nullptr;
}
bool one_channel_for_two(Plan& plan, Dice& dice) {
  const std::vector<At> sends = all_of(plan, Opcode::send);
  const At* at = one_of(sends, dice);
  if (at == nullptr || plan.channels.size() < 2) return false;
  at->in(plan).target = (at->in(plan).target + 1) % static_cast<std::uint32_t>(plan.channels.size());
  return true;
}
/// A wait gets another buffer than the start that it belongs to.
bool other_buffer(Plan& plan, Dice& dice) {
  const std::vector<At> waits = all_of(plan, kStartsAndWaits[dice.below(std::size(kStartsAndWaits))].second);
  const At* at = one_of(waits, dice);
  if (at == nullptr || at->of(plan).buffers.size() < 2) return false;
  const Range range = at->in(plan).inputs.count > 0 ? at->in(plan).inputs : at->in(plan).outputs;
  BufferId& buffer = at->of(plan).operands[range[0]];
  buffer = (buffer + 1) % static_cast<std::uint32_t>(at->of(plan).buffers.size());
  return true;
}

constexpr Mutation kChannelMutations[] = {
    {"swapped sends", swap_sends},
    {"dropped send", drop_send},
    {"dropped send_wait", drop_send_wait},
    {"dropped receive", drop_receive},
    {"dropped receive_wait", drop_receive_wait},
    {"wait before its start", early_wait},
    {"receive_wait after its value's use", late_receive_wait},
    {"collective_wait after its value's use", late_collective_wait},
    {"wrong sender", wrong_sender},
    {"wrong receiver", wrong_receiver},
    {"wrong channel size", wrong_channel_size},
    {"wrong channel dtype", wrong_channel_dtype},
    {"no slots", no_slots},
    {"one channel for two values", one_channel_for_two},
    {"wait for another buffer", other_buffer},
};

}  // namespace

std::span<const Mutation> channel_mutations() {
  return kChannelMutations;
}

}  // namespace ferry::test
