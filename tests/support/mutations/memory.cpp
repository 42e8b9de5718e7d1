// Mutations of where buffers lie, and of when their bytes are made and used.
#include <algorithm>
#include <tuple>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

/// Puts buffer `b` and its views at another place.
void place(PlanClass& c, std::uint32_t b, std::uint64_t offset) {
  const std::uint32_t root = storage(c, b);
  const std::uint64_t by = offset - c.buffers[b].offset;
  for (std::uint32_t other = 0; other < c.buffers.size(); ++other)
    if (storage(c, other) == root) c.buffers[other].offset += by;
}

bool in_step(const Buffer& b) {
  return b.space == Buffer::Space::step && b.bytes > 0 && !b.bounded;
}

bool of_one_arena(const PlanClass& c, std::uint32_t a, std::uint32_t b) {
  return in_step(c.buffers[a]) && in_step(c.buffers[b]) && c.buffers[a].device == c.buffers[b].device &&
         storage(c, a) != storage(c, b);
}

/// Two inputs of one instruction get the same bytes.
bool overlap_inputs(Plan& plan, Dice& dice) {
  std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t c = 0; c < plan.classes.size(); ++c)
    for (const Instruction& i : plan.classes[c].instructions)
      for (std::uint32_t k = 1; k < i.inputs.count; ++k) {
        const std::uint32_t a = operand(plan.classes[c], i.inputs, 0), b = operand(plan.classes[c], i.inputs, k);
        if (of_one_arena(plan.classes[c], a, b)) pairs.emplace_back(c, a, b);
      }
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[std::get<0>(*pair)];
  place(c, std::get<2>(*pair), c.buffers[std::get<1>(*pair)].offset);
  return true;
}
/// An output is written over an input that the instruction must not write over.
bool overlap_output(Plan& plan, Dice& dice) {
  std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t c = 0; c < plan.classes.size(); ++c)
    for (const Instruction& i : plan.classes[c].instructions) {
      if (i.what != Opcode::kernel && i.what != Opcode::collective) continue;
      for (std::uint32_t k = 0; k < i.inputs.count && i.outputs.count > 0; ++k) {
        const std::uint32_t in = operand(plan.classes[c], i.inputs, k), out = operand(plan.classes[c], i.outputs, 0);
        if (of_one_arena(plan.classes[c], in, out) && !may_overwrite(i, k)) pairs.emplace_back(c, in, out);
      }
    }
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[std::get<0>(*pair)];
  place(c, std::get<2>(*pair), c.buffers[std::get<1>(*pair)].offset);
  return true;
}
/// A collective writes over its input, though other members still need that.
bool sum_over_input(Plan& plan, Dice& dice) {
  std::vector<std::tuple<At, std::uint32_t, std::uint32_t>> sums;
  for (const At& at : all_of(plan, Opcode::collective)) {
    const PlanClass& c = at.of(plan);
    const Instruction& i = at.in(plan);
    if (i.inputs.count == 0 || i.outputs.count == 0 || may_overwrite(i, 0)) continue;
    const std::uint32_t in = operand(c, i.inputs, 0), out = operand(c, i.outputs, 0);
    if (of_one_arena(c, in, out) && c.buffers[in].bytes == c.buffers[out].bytes) sums.emplace_back(at, in, out);
  }
  const auto* sum = one_of(sums, dice);
  if (sum == nullptr) return false;
  const auto [at, in, out] = *sum;
  PlanClass& c = at.of(plan);
  place(c, out, c.buffers[in].offset);
  const std::uint32_t number = at.in(plan).target;
  for (Instruction& i : c.instructions)
    if ((i.what == Opcode::collective || i.what == Opcode::collective_wait) && i.target == number) i.in_place = 1;
  return true;
}
bool smaller_arena(Plan& plan, Dice& dice) {
  PlanClass& c = plan.classes[dice.below(plan.classes.size())];
  for (Buffer& b : c.buffers) {
    if (!in_step(b)) continue;
    c.devices[b.device].step_bytes = b.offset + b.bytes - 1;
    return true;
  }
  return false;
}
bool misplaced_view(Plan& plan, Dice& dice) {
  std::vector<Buffer*> views;
  for (PlanClass& c : plan.classes)
    for (Buffer& b : c.buffers)
      if (b.view_of != kNone && b.bytes > 0) views.push_back(&b);
  Buffer* const* view = one_of(views, dice);
  if (view != nullptr) (*view)->offset += 64;
  return view != nullptr;
}
/// An instruction comes before the one that makes its input.
bool use_before_making(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, std::size_t>> moves;
  for (const At& user : all_of(plan, Opcode::kernel)) {
    const PlanClass& c = user.of(plan);
    const Range range = c.regions[region_of(c, user.index)].instructions;
    for (std::size_t k = range.first; k < user.index; ++k) {
      const Instruction& maker = c.instructions[k];
      if (maker.what != Opcode::kernel || maker.outputs.count != 1) continue;
      const std::uint32_t made = storage(c, operand(c, maker.outputs, 0));
      bool reads = false, written_before = false;
      for (std::uint32_t n = 0; n < user.in(plan).inputs.count; ++n)
        reads = reads || storage(c, operand(c, user.in(plan).inputs, n)) == made;
      for (std::size_t other = 0; other < c.instructions.size(); ++other)
        for (std::uint32_t n = 0; n < c.instructions[other].outputs.count; ++n)
          written_before =
              written_before || (other != k && storage(c, operand(c, c.instructions[other].outputs, n)) == made);
      if (reads && !written_before && in_step(c.buffers[made])) moves.emplace_back(user, k);
    }
  }
  const auto* found = one_of(moves, dice);
  if (found != nullptr) move(found->first.of(plan), found->first.index, found->second);
  return found != nullptr;
}
bool drop_maker(Plan& plan, Dice& dice) {
  std::vector<At> makers;
  for (const At& at : all_of(plan, Opcode::kernel)) {
    const PlanClass& c = at.of(plan);
    const Instruction& maker = at.in(plan);
    if (maker.outputs.count != 1) continue;
    const std::uint32_t made = storage(c, operand(c, maker.outputs, 0));
    std::size_t reads = 0, writes = 0;
    for (const Instruction& i : c.instructions) {
      for (std::uint32_t n = 0; n < i.inputs.count; ++n) reads += storage(c, operand(c, i.inputs, n)) == made ? 1 : 0;
      for (std::uint32_t n = 0; n < i.outputs.count; ++n)
        writes += storage(c, operand(c, i.outputs, n)) == made ? 1 : 0;
    }
    const bool is_variable =
        std::any_of(c.variables.begin(), c.variables.end(), [&](const PlanVariable& v) { return v.buffer == made; });
    if (reads > 0 && writes == 1 && !is_variable && c.buffers[made].bytes > 0 &&
        c.buffers[made].space != Buffer::Space::none)
      makers.push_back(at);
  }
  const At* at = one_of(makers, dice);
  if (at != nullptr) drop(plan, *at);
  return at != nullptr;
}
/// A buffer gets the bytes of a value that is on its way to another task.
bool overwrite_while_sending(Plan& plan, Dice& dice) {
  std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>> pairs;
  for (const At& send : all_of(plan, Opcode::send)) {
    const PlanClass& c = send.of(plan);
    const std::uint32_t sent = operand(c, send.in(plan).inputs, 0);
    for (std::size_t k = send.index + 1; k < c.instructions.size(); ++k) {
      const Instruction& i = c.instructions[k];
      if (i.what == Opcode::send_wait && i.target == send.in(plan).target) break;
      if (i.what != Opcode::receive_wait && i.what != Opcode::loop && i.what != Opcode::branch && i.outputs.count > 0 &&
          of_one_arena(c, sent, operand(c, i.outputs, 0)))
        pairs.emplace_back(send.plan_class, sent, operand(c, i.outputs, 0));
    }
  }
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[std::get<0>(*pair)];
  place(c, std::get<2>(*pair), c.buffers[std::get<1>(*pair)].offset);
  return true;
}

bool is_swap(const PlanClass&, const Instruction& i) {
  return i.swaps();
}
/// A copy that is not in the body of a loop swaps its buffers.
bool swap_outside(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, [](const PlanClass& c, const Instruction& i) {
    const auto at = static_cast<std::size_t>(&i - c.instructions.data());
    return i.what == Opcode::copy && c.regions[region_of(c, at)].kind != Region::Kind::body;
  });
  const At* at = one_of(all, dice);
  if (at != nullptr) at->in(plan).other = Instruction::kSwap;
  return at != nullptr;
}
/// Another value of the loop gets bytes of a buffer that is swapped.
bool bytes_of_swapped(Plan& plan, Dice& dice) {
  std::vector<std::tuple<At, std::uint32_t>> others;
  for (const At& at : all_of(plan, is_swap)) {
    const PlanClass& c = at.of(plan);
    const std::uint32_t next = operand(c, at.in(plan).inputs, 0), carried = operand(c, at.in(plan).outputs, 0);
    for (const std::uint32_t k : c.regions[region_of(c, at.index)].instructions)
      for (const std::uint32_t b : c.outputs(c.instructions[k]))
        if (of_one_arena(c, b, next) && of_one_arena(c, b, carried) && c.buffers[b].bytes <= c.buffers[next].bytes)
          others.emplace_back(at, b);
  }
  const auto* other = one_of(others, dice);
  if (other == nullptr) return false;
  const auto [at, b] = *other;
  PlanClass& c = at.of(plan);
  place(c, b, c.buffers[operand(c, at.in(plan).inputs, 0)].offset);
  return true;
}
/// A loop swaps its values before the kernels of its body.
bool swap_first(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, is_swap);
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  PlanClass& c = at->of(plan);
  move(c, at->index, c.regions[region_of(c, at->index)].instructions.first);
  return true;
}

constexpr Mutation kMemoryMutations[] = {
    {"inputs that overlap", overlap_inputs}, {"output over an input", overlap_output},
    {"sum over its input", sum_over_input},  {"smaller arena", smaller_arena},
    {"misplaced view", misplaced_view},      {"use before making", use_before_making},
    {"dropped maker", drop_maker},           {"overwritten while sent", overwrite_while_sending},
    {"swap outside a loop", swap_outside},   {"bytes of a swapped value", bytes_of_swapped},
    {"swap before its kernel", swap_first},
};

}  // namespace

std::span<const Mutation> memory_mutations() {
  return kMemoryMutations;
}

}  // namespace ferry::test
