// Mutations of stencils: of their windows and kernels, of their operands, and of the instructions that begin them.
#include <optional>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

/// The kernels of the region of a random stencil; `at` becomes the stencil.
Range members_of_one(Plan& plan, Dice& dice, At& at) {
  const std::vector<At> all = all_of(plan, Opcode::stencil);
  const At* const one = one_of(all, dice);
  if (one == nullptr) return {};
  at = *one;
  return at.of(plan).regions[at.in(plan).target].instructions;
}
bool is_window(const Plan& plan, const Instruction& i) {
  return plan.string(i.op) == "Window";
}

/// A random stencil_begin, and the index of its stencil.
struct Begun {
  At begin;
  std::size_t stencil = 0;
};
std::optional<Begun> one_begun(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, Opcode::stencil_begin);
  const At* const at = one_of(all, dice);
  if (at == nullptr) return std::nullopt;
  const std::vector<Instruction>& list = at->of(plan).instructions;
  for (std::size_t k = at->index; k < list.size(); ++k)
    if (list[k].what == Opcode::stencil && list[k].target == at->in(plan).target) return Begun{*at, k};
  return std::nullopt;
}

bool hidden_operand_of_stencil(Plan& plan, Dice& dice) {
  At at;
  if (members_of_one(plan, dice, at).count == 0) return false;
  --(dice.one_in(2) ? at.in(plan).inputs : at.in(plan).outputs).count;
  return true;
}
bool begin_reads_halos(Plan& plan, Dice& dice) {
  At at;
  if (members_of_one(plan, dice, at).count == 0) return false;
  for (Instruction& i : at.of(plan).instructions)
    if (i.what == Opcode::stencil_begin && i.target == at.in(plan).target &&
        i.inputs.count < at.in(plan).inputs.count) {
      i.inputs = at.in(plan).inputs;
      return true;
    }
  return false;
}
bool begin_after_stencil(Plan& plan, Dice& dice) {
  const std::optional<Begun> one = one_begun(plan, dice);
  if (one) move(one->begin.of(plan), one->begin.index, one->stencil);
  return one.has_value();
}
bool begun_twice(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, Opcode::stencil_begin);
  const At* const at = one_of(all, dice);
  if (at == nullptr) return false;
  PlanClass& c = at->of(plan);
  for (std::size_t k = at->index + 1; k < c.instructions.size(); ++k)
    if (c.instructions[k].what == Opcode::collective_wait && region_of(c, k) == region_of(c, at->index)) {
      c.instructions[k] = at->in(plan);
      return true;
    }
  return false;
}
/// A stencil is done where it begins, before its halos have come.
bool stencil_too_early(Plan& plan, Dice& dice) {
  const std::optional<Begun> one = one_begun(plan, dice);
  if (!one) return false;
  PlanClass& c = one->begin.of(plan);
  const Range inputs = c.instructions[one->stencil].inputs;
  bool awaits = false;  // rows of others, not none
  for (std::uint32_t n = one->begin.in(plan).inputs.count; n < inputs.count; ++n)
    awaits = awaits || c.buffers[operand(c, inputs, n)].bytes > 0;
  if (awaits) move(c, one->stencil, one->begin.index + 1);
  return awaits;
}
/// The result overlaps with a value that is read through a window.
bool stencil_over_its_windows(Plan& plan, Dice& dice) {
  At at;
  const Range members = members_of_one(plan, dice, at);
  if (members.count == 0) return false;
  PlanClass& c = at.of(plan);
  Buffer& out = c.buffers[operand(c, at.in(plan).outputs, 0)];
  const Buffer& read = c.buffers[operand(c, c.instructions[members.first].inputs, 0)];
  if (out.space != Buffer::Space::step || out.view_of != kNone) return false;
  if (read.space != out.space || read.bytes < out.bytes) return false;
  out.offset = read.offset;
  return true;
}
bool shared_slot_of_stencil(Plan& plan, Dice& dice) {
  At at;
  const Range members = members_of_one(plan, dice, at);
  if (members.count < 2) return false;
  PlanClass& c = at.of(plan);
  const Instruction &one = c.instructions[members.first], &two = c.instructions[members[1]];
  if (!is_window(plan, two)) return false;
  c.buffers[operand(c, one.outputs, 0)].offset = c.buffers[operand(c, two.outputs, 0)].offset;
  return true;
}
bool window_in_memory(Plan& plan, Dice& dice) {
  At at;
  const Range members = members_of_one(plan, dice, at);
  if (members.count == 0) return false;
  PlanClass& c = at.of(plan);
  Buffer& made = c.buffers[operand(c, c.instructions[members.first].outputs, 0)];
  made.space = Buffer::Space::step;
  made.offset = 0;
  return true;
}
bool longer_piece(Plan& plan, Dice& dice) {
  At at;
  if (members_of_one(plan, dice, at).count == 0) return false;
  const std::uint32_t target = at.in(plan).target;
  for (Instruction& i : at.of(plan).instructions)
    if ((i.what == Opcode::stencil || i.what == Opcode::stencil_begin) && i.target == target) i.other = kSlotBytes + 1;
  return true;
}
bool window_last(Plan& plan, Dice& dice) {
  At at;
  const Range members = members_of_one(plan, dice, at);
  if (members.count == 0) return false;
  move(at.of(plan), members.first, members.first + members.count - 1);
  return true;
}
bool no_kernel_in_stencil(Plan& plan, Dice& dice) {
  At at;
  const Range members = members_of_one(plan, dice, at);
  if (members.count == 0) return false;
  at.of(plan).instructions[members.first + members.count - 1].what = Opcode::copy;
  return true;
}
bool not_run_as_stencil(Plan& plan, Dice& dice) {
  At at;
  if (members_of_one(plan, dice, at).count == 0) return false;
  at.of(plan).regions[at.in(plan).target].kind = Region::Kind::branch;
  return true;
}

constexpr Mutation kStencilMutations[] = {
    {"hidden operand of a stencil", hidden_operand_of_stencil},
    {"stencil begun with halos", begin_reads_halos},
    {"stencil begun after it", begin_after_stencil},
    {"stencil begun twice", begun_twice},
    {"stencil too early", stencil_too_early},
    {"stencil over its windows", stencil_over_its_windows},
    {"shared slot of a stencil", shared_slot_of_stencil},
    {"window in memory", window_in_memory},
    {"longer piece of a stencil", longer_piece},
    {"window after kernels", window_last},
    {"no kernel in a stencil", no_kernel_in_stencil},
    {"stencil's region of another kind", not_run_as_stencil},
};

}  // namespace

std::span<const Mutation> stencil_mutations() {
  return kStencilMutations;
}

}  // namespace ferry::test
