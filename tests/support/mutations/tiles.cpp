// Mutations of tile regions: of their operands, of the slots of values that only they use, and of the order of their
// kernels.
#include <algorithm>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

bool in_slot(const PlanClass& c, std::uint32_t b) {
  return c.buffers[b].space == Buffer::Space::tile;
}

/// Kernels of tile regions that go over their values tile by tile.
std::vector<At> members(const Plan& plan, const Wanted& wanted) {
  return all_of(plan, [&](const PlanClass& c, const Instruction& i) {
    const auto region = region_of(c, static_cast<std::size_t>(&i - c.instructions.data()));
    const auto runs = [&](const Instruction& tiles) {
      return tiles.what == Opcode::tiles && tiles.target == region && tiles.other != 0;
    };
    return c.regions[region].kind == Region::Kind::tile && wanted(c, i) &&
           std::any_of(c.instructions.begin(), c.instructions.end(), runs);
  });
}

/// The instructions that run tile regions with slots.
std::vector<At> with_slots(const Plan& plan) {
  return all_of(plan, [](const PlanClass& c, const Instruction& i) {
    if (i.what != Opcode::tiles) return false;
    const Range range = c.regions[i.region()].instructions;
    return std::any_of(c.instructions.begin() + range.first, c.instructions.begin() + range.first + range.count,
                       [&](const Instruction& member) { return in_slot(c, operand(c, member.outputs, 0)); });
  });
}

bool hidden_operand(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, Opcode::tiles);
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  Range& range = dice.one_in(2) ? at->in(plan).inputs : at->in(plan).outputs;
  if (range.count < 2) return false;
  --range.count;
  return true;
}
bool kernel_of_other_size(Plan& plan, Dice& dice) {
  const std::vector<At> all = members(plan, [](const PlanClass& c, const Instruction& i) {
    return c.buffers[operand(c, i.outputs, 0)].window == kNone;
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  Buffer& b = at->of(plan).buffers[operand(at->of(plan), at->in(plan).outputs, 0)];
  std::vector<std::int64_t> sizes = b.sizes;
  sizes.push_back(2);
  b.sizes = std::move(sizes);
  b.bytes *= 2;
  return true;
}
bool not_a_kernel(Plan& plan, Dice& dice) {
  const std::vector<At> all = members(plan, [](const PlanClass&, const Instruction& i) { return i.inputs.count == 1; });
  const At* at = one_of(all, dice);
  if (at != nullptr) at->in(plan).what = Opcode::copy;
  return at != nullptr;
}
bool slot_behind_the_end(Plan& plan, Dice& dice) {
  const std::vector<At> all =
      members(plan, [](const PlanClass& c, const Instruction& i) { return in_slot(c, operand(c, i.outputs, 0)); });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  at->of(plan).buffers[operand(at->of(plan), at->in(plan).outputs, 0)].offset = kSlotBytes;
  return true;
}
/// The end of the slot wraps to a small offset.
bool slot_before_the_slots(Plan& plan, Dice& dice) {
  std::vector<Buffer*> slots;
  for (PlanClass& c : plan.classes)
    for (Buffer& b : c.buffers)
      if (b.space == Buffer::Space::tile) slots.push_back(&b);
  Buffer* const* slot = one_of(slots, dice);
  if (slot != nullptr) (*slot)->offset = 0 - std::uint64_t{size_of((*slot)->dtype)};
  return slot != nullptr;
}
bool larger_tile(Plan& plan, Dice& dice) {
  const std::vector<At> all = with_slots(plan);
  const At* at = one_of(all, dice);
  if (at != nullptr) at->in(plan).other = kSlotBytes + 1;
  return at != nullptr;
}
/// A tile ends within a row.
bool cut_row(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [](const PlanClass& c, const Instruction& i) {
    if (i.what != Opcode::tiles || i.other == 0) return false;
    const Range range = c.regions[i.region()].instructions;
    const auto joins = [&](const Instruction& member) {
      const Buffer &in = c.buffers[operand(c, member.inputs, 0)], &out = c.buffers[operand(c, member.outputs, 0)];
      return in.space != Buffer::Space::none && in.bytes / size_of(in.dtype) > out.bytes / size_of(out.dtype);
    };
    return std::any_of(c.instructions.begin() + range.first, c.instructions.begin() + range.first + range.count, joins);
  });
  const At* at = one_of(all, dice);
  if (at != nullptr) ++at->in(plan).other;
  return at != nullptr;
}
bool empty_tile(Plan& plan, Dice& dice) {
  const std::vector<At> all =
      all_of(plan, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::tiles && i.other != 0; });
  const At* at = one_of(all, dice);
  if (at != nullptr) at->in(plan).other = 0;
  return at != nullptr;
}
/// Two values that a kernel needs get the same slot.
bool shared_slot(Plan& plan, Dice& dice) {
  const std::vector<At> all = members(plan, [](const PlanClass& c, const Instruction& i) {
    return i.inputs.count > 1 && operand(c, i.inputs, 0) != operand(c, i.inputs, 1) &&
           in_slot(c, operand(c, i.inputs, 0)) && in_slot(c, operand(c, i.inputs, 1));
  });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  PlanClass& c = at->of(plan);
  c.buffers[operand(c, at->in(plan).inputs, 0)].offset = c.buffers[operand(c, at->in(plan).inputs, 1)].offset;
  return true;
}
/// An instruction outside a tile region reads a value in a slot.
bool slot_used_outside(Plan& plan, Dice& dice) {
  const std::vector<At> makers =
      members(plan, [](const PlanClass& c, const Instruction& i) { return in_slot(c, operand(c, i.outputs, 0)); });
  const At* maker = one_of(makers, dice);
  if (maker == nullptr) return false;
  PlanClass& c = maker->of(plan);
  const std::size_t region = region_of(c, maker->index);
  const std::uint32_t slot = operand(c, maker->in(plan).outputs, 0);
  for (std::size_t k = 0; k < c.instructions.size(); ++k) {
    const Instruction& i = c.instructions[k];
    if (i.inputs.count == 0 || region_of(c, k) == region) continue;
    c.operands[i.inputs[0]] = slot;
    return true;
  }
  return false;
}
/// A value moves from its slot to memory where other values lie.
bool slot_in_memory(Plan& plan, Dice& dice) {
  const std::vector<At> all =
      members(plan, [](const PlanClass& c, const Instruction& i) { return in_slot(c, operand(c, i.outputs, 0)); });
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  Buffer& b = at->of(plan).buffers[operand(at->of(plan), at->in(plan).outputs, 0)];
  b.space = Buffer::Space::step;
  b.offset = 0;
  return true;
}
/// A kernel comes before the one whose value it takes.
bool kernel_too_early(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, std::size_t>> moves;
  for (const At& at : members(plan, [](const PlanClass&, const Instruction& i) { return i.inputs.count > 0; })) {
    const PlanClass& c = at.of(plan);
    const std::size_t first = c.regions[region_of(c, at.index)].instructions.first;
    for (std::size_t k = first; k < at.index; ++k)
      for (std::uint32_t n = 0; n < at.in(plan).inputs.count; ++n)
        if (in_slot(c, operand(c, at.in(plan).inputs, n)) &&
            operand(c, c.instructions[k].outputs, 0) == operand(c, at.in(plan).inputs, n))
          moves.emplace_back(at, k);
  }
  const auto* found = one_of(moves, dice);
  if (found != nullptr) move(found->first.of(plan), found->first.index, found->second);
  return found != nullptr;
}
/// An output moves one cache line away from the input whose bytes it had taken.
bool output_beside_input(Plan& plan, Dice& dice) {
  std::vector<std::pair<std::size_t, std::uint32_t>> found;
  for (const At& at : all_of(plan, Opcode::tiles)) {
    const PlanClass& c = at.of(plan);
    for (std::uint32_t o = 0; o < at.in(plan).outputs.count; ++o)
      for (std::uint32_t k = 0; k < at.in(plan).inputs.count; ++k) {
        const std::uint32_t out = operand(c, at.in(plan).outputs, o), in = operand(c, at.in(plan).inputs, k);
        const Buffer &a = c.buffers[out], &b = c.buffers[in];
        if (out != in && a.space == Buffer::Space::step && b.space == a.space && a.device == b.device &&
            a.offset == b.offset && a.bytes > 64 && storage(c, out) == out)
          found.emplace_back(at.plan_class, out);
      }
  }
  const auto* pair = one_of(found, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[pair->first];
  for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
    if (storage(c, b) == pair->second) c.buffers[b].offset += 64;
  c.devices[c.buffers[pair->second].device].step_bytes += 64;
  return true;
}
/// A product that ops follow piece by piece writes over an input.
bool pieces_over_input(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, std::uint32_t>> found;
  for (const At& at :
       all_of(plan, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::tiles && i.other == 0; })) {
    const PlanClass& c = at.of(plan);
    const Buffer& out = c.buffers[operand(c, at.in(plan).outputs, 0)];
    for (std::uint32_t k = 0; k < at.in(plan).inputs.count; ++k) {
      const Buffer& in = c.buffers[operand(c, at.in(plan).inputs, k)];
      if (out.view_of == kNone && in.space == out.space && in.device == out.device && in.bytes > 0 && out.bytes > 0)
        found.emplace_back(at, operand(c, at.in(plan).inputs, k));
    }
  }
  const auto* pair = one_of(found, dice);
  if (pair == nullptr) return false;
  PlanClass& c = pair->first.of(plan);
  const std::uint32_t out = operand(c, pair->first.in(plan).outputs, 0);
  const std::uint64_t from = c.buffers[out].offset, to = c.buffers[pair->second].offset;
  for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
    if (storage(c, b) == out) c.buffers[b].offset = c.buffers[b].offset - from + to;
  PlanDevice& device = c.devices[c.buffers[out].device];
  (c.buffers[out].space == Buffer::Space::step ? device.step_bytes : device.state_bytes) += c.buffers[out].bytes;
  return true;
}
bool not_run_as_tiles(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, Opcode::tiles);
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  at->of(plan).regions[at->in(plan).target].kind = Region::Kind::branch;
  return true;
}

constexpr Mutation kTileMutations[] = {
    {"hidden operand of tiles", hidden_operand},
    {"kernel of another size among tiles", kernel_of_other_size},
    {"no kernel among tiles", not_a_kernel},
    {"slot behind the end", slot_behind_the_end},
    {"slot before the slots", slot_before_the_slots},
    {"larger tile", larger_tile},
    {"row cut by tiles", cut_row},
    {"empty tile", empty_tile},
    {"shared slot", shared_slot},
    {"slot used outside", slot_used_outside},
    {"slot in memory", slot_in_memory},
    {"kernel of tiles too early", kernel_too_early},
    {"output beside an input", output_beside_input},
    {"pieces over an input", pieces_over_input},
    {"tile region of another kind", not_run_as_tiles},
};

}  // namespace

std::span<const Mutation> tile_mutations() {
  return kTileMutations;
}

}  // namespace ferry::test
