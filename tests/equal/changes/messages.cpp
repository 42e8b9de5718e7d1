// Changes of messages and parts: collectives, channels, buckets, windows.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/equal/changes/families.hpp"
#include "tests/equal/changes/instructions.hpp"

namespace ferry::test {
namespace {

bool another_reduction(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t c = 0; c < plan.collectives.size(); ++c)
    if (plan.collectives[c].reduce != Reduce::none) all.push_back(c);
  if (all.empty()) return false;
  Collective& collective = plan.collectives[dice.of(all)];
  collective.reduce = collective.reduce == Reduce::sum ? (dice.one_in(2) ? Reduce::max : Reduce::min) : Reduce::sum;
  return true;
}

/// In place of a collective, a copy of what each gives.
bool leave_out_collective(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [](const PlanClass& c, const Instruction& i) {
    return i.what == Opcode::collective && i.inputs.count == 1 && i.outputs.count == 1 &&
           c.buffers[c.inputs(i)[0]].bytes == c.buffers[c.outputs(i)[0]].bytes &&
           c.buffers[c.inputs(i)[0]].sizes == c.buffers[c.outputs(i)[0]].sizes;
  });
  if (chosen.empty()) return false;
  const std::uint32_t number = chosen[0].in(plan).target;
  for (PlanClass& c : plan.classes)
    for (std::uint32_t i = 0; i < c.instructions.size();) {
      Instruction& instruction = c.instructions[i];
      if (instruction.what == Opcode::collective_wait && instruction.target == number) {
        erase_instruction(c, i);
        c.stretches.clear();
        continue;
      }
      if (instruction.what == Opcode::collective && instruction.target == number) {
        if (instruction.inputs.count != 1 || instruction.outputs.count != 1) return false;
        instruction.what = Opcode::copy;
        instruction.target = instruction.scratch = kNone;
        instruction.in_place = 0;
      }
      ++i;
    }
  plan.collectives.erase(plan.collectives.begin() + number);
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions)
      if ((i.what == Opcode::collective || i.what == Opcode::collective_wait) && i.target > number) --i.target;
  return true;
}

/// After a sum over tasks, the same once more.
bool sum_twice(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::collective &&
           plan.schedules[plan.collectives[i.collective()].schedule].kind == CollectiveKind::all_reduce;
  });
  if (chosen.empty()) return false;
  const std::uint32_t number = chosen[0].in(plan).target;
  const auto again = static_cast<std::uint32_t>(plan.collectives.size());
  plan.collectives.push_back(Collective(plan.collectives[number]));
  for (PlanClass& c : plan.classes)
    for (std::uint32_t i = 0; i < c.instructions.size(); ++i) {
      if (c.instructions[i].what != Opcode::collective_wait || c.instructions[i].target != number) continue;
      Instruction start = c.instructions[i], wait = start;
      const std::uint32_t out = c.outputs(start)[0];
      Buffer other = c.buffers[out];
      other.view_of = kNone;
      PlanDevice& device = c.devices[other.device];
      other.space = Buffer::Space::step;
      other.offset = (device.step_bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
      device.step_bytes = (other.offset + other.bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
      c.buffers.push_back(other);
      const auto made = static_cast<std::uint32_t>(c.buffers.size() - 1);
      start.what = Opcode::collective;
      start.target = wait.target = again;
      Instruction copy;
      copy.what = Opcode::copy;
      copy.name = start.name;
      set_operands(c, start.inputs, {out});
      set_operands(c, start.outputs, {made});
      set_operands(c, wait.inputs, {out});
      set_operands(c, wait.outputs, {made});
      set_operands(c, copy.inputs, {made});
      set_operands(c, copy.outputs, {out});
      insert(c, i + 1, copy);
      insert(c, i + 1, wait);
      insert(c, i + 1, start);
      Region& region = *std::ranges::find_if(c.regions, [&](const Region& r) { return r.instructions.contains(i); });
      if (!region.instructions.contains(i + 1)) return false;
      i += 3;
    }
  return true;
}

bool exchange_channels(Plan& plan, Dice& dice) {
  if (plan.channels.size() < 2) return false;
  const std::uint32_t a = drawn(dice, plan.channels.size()), b = drawn(dice, plan.channels.size());
  const Channel &one = plan.channels[a], &other = plan.channels[b];
  if (a == b || one.from != other.from || one.to != other.to || one.bytes != other.bytes || one.dtype != other.dtype)
    return false;
  PlanClass& c = plan.classes[plan.class_of[one.to]];
  for (Instruction& i : c.instructions)
    if (i.what == Opcode::receive || i.what == Opcode::receive_wait)
      i.target = i.target == a ? b : i.target == b ? a : i.target;
  return true;
}

/// Exchanges the places of two parts of one buffer, on all classes or on one.
bool exchange_parts(Plan& plan, Dice& dice) {
  struct Pair {
    std::uint32_t c, a, b;
  };
  std::vector<Pair> all;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) {
    const auto& buffers = plan.classes[c].buffers;
    for (std::uint32_t a = 0; a < buffers.size(); ++a)
      for (std::uint32_t b = a + 1; b < buffers.size() && b < a + 40; ++b)
        if (buffers[a].view_of != kNone && buffers[a].view_of == buffers[b].view_of &&
            buffers[a].offset != buffers[b].offset && buffers[a].bytes == buffers[b].bytes)
          all.push_back({c, a, b});
  }
  if (all.empty()) return false;
  const Pair chosen = dice.of(all);
  const std::uint32_t a_name = plan.classes[chosen.c].buffers[chosen.a].name,
                      b_name = plan.classes[chosen.c].buffers[chosen.b].name;
  const bool everywhere = dice.one_in(2);
  for (const Pair& pair : all) {
    auto& buffers = plan.classes[pair.c].buffers;
    const bool same = buffers[pair.a].name == a_name && buffers[pair.b].name == b_name;
    if ((pair.c == chosen.c && pair.a == chosen.a && pair.b == chosen.b) || (everywhere && same))
      std::swap(buffers[pair.a].offset, buffers[pair.b].offset);
  }
  return true;
}

bool another_root(Plan& plan, Dice& dice) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t s = 0; s < plan.schedules.size(); ++s)
    if (is_rooted(plan.schedules[s].kind)) all.push_back(s);
  if (all.empty()) return false;
  Schedule& schedule = plan.schedules[dice.of(all)];
  schedule.root = dice.below(schedule.members);
  return true;
}

bool permute_group(Plan& plan, Dice& dice) {
  if (plan.groupings.empty()) return false;
  Grouping& grouping = plan.groupings[drawn(dice, plan.groupings.size())];
  for (auto& group : grouping) {
    if (group.size() < 2) return false;
    std::swap(group[0], group[group.size() - 1]);
  }
  return true;
}

bool another_window(Plan& plan, Dice& dice) {
  if (plan.windows.empty()) return false;
  Window& window = plan.windows[drawn(dice, plan.windows.size())];
  if (window.splits.empty() || window.sizes.size() < 2) return false;
  SplitDim& split = window.splits[drawn(dice, window.splits.size())];
  split.dim = (split.dim + 1) % static_cast<std::uint32_t>(window.sizes.size());
  return true;
}

bool another_view(Plan& plan, Dice& dice) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c)
    for (std::uint32_t b = 0; b < plan.classes[c].buffers.size(); ++b)
      if (const Buffer& buffer = plan.classes[c].buffers[b];
          buffer.sizes.size() >= 2 && buffer.window == kNone && !buffer.bounded && buffer.sizes[0] != buffer.sizes[1])
        all.emplace_back(c, b);
  if (all.empty()) return false;
  const auto [c, b] = dice.of(all);
  std::vector<std::int64_t>& sizes = plan.classes[c].buffers[b].sizes.own();
  std::swap(sizes[0], sizes[1]);
  return true;
}

constexpr MeaningChange kChanges[] = {
    {"another way to combine", another_reduction},
    {"a collective left out", leave_out_collective},
    {"a sum over tasks made twice", sum_twice},
    {"another value sent", another_of<Opcode::send>},
    {"another value given to a collective", another_of<Opcode::collective>},
    {"two messages exchanged", exchange_channels},
    {"two parts of a buffer exchanged", exchange_parts},
    {"another root", another_root},
    {"members in another order", permute_group},
    {"another dim split", another_window},
    {"a view with dims exchanged", another_view},
};

}  // namespace

std::span<const MeaningChange> message_changes() {
  return kChanges;
}

}  // namespace ferry::test
