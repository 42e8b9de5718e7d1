// Mutations of messages that have several values, and of what happens while a collective is under way.
#include <set>
#include <tuple>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

bool is_part(const PlanClass& c, const Buffer& b) {
  return b.view_of != kNone && b.bytes > 0 && b.bytes < c.buffers[b.view_of].bytes;
}

/// The parts of a buffer, one view of each.
std::vector<std::uint32_t> parts_of(const PlanClass& c, std::uint32_t whole) {
  std::vector<std::uint32_t> parts;
  std::set<std::uint64_t> offsets;
  for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
    if (c.buffers[b].view_of == whole && is_part(c, c.buffers[b]) && offsets.insert(c.buffers[b].offset).second)
      parts.push_back(b);
  return parts;
}

/// A class, and two parts of one of its buffers.
using Pairs = std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>>;

void add_pairs(Pairs& pairs, const Plan& plan, std::size_t plan_class, std::uint32_t whole) {
  const PlanClass& c = plan.classes[plan_class];
  const std::vector<std::uint32_t> parts = parts_of(c, whole);
  for (const std::uint32_t a : parts)
    for (const std::uint32_t b : parts)
      if (a < b && plan.string(c.buffers[a].name) != plan.string(c.buffers[b].name))
        pairs.emplace_back(plan_class, a, b);
}

bool exchange_one(const Pairs& pairs, Plan& plan, Dice& dice) {
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  PlanClass& c = plan.classes[std::get<0>(*pair)];
  const std::uint64_t a = c.buffers[std::get<1>(*pair)].offset, b = c.buffers[std::get<2>(*pair)].offset;
  for (Buffer& view : c.buffers) {
    if (view.view_of != c.buffers[std::get<1>(*pair)].view_of || !is_part(c, view)) continue;
    if (view.offset == a)
      view.offset = b;
    else if (view.offset == b)
      view.offset = a;
  }
  return true;
}

/// In one of a collective's several classes two values change places before they are summed.
bool exchanged_values(Plan& plan, Dice& dice) {
  Pairs pairs;
  for (const At& at : all_of(plan, Opcode::collective))
    if (at.in(plan).inputs.count > 0 && classes_in(plan, plan.collectives[at.in(plan).target]).size() > 1)
      add_pairs(pairs, plan, at.plan_class, operand(at.of(plan), at.in(plan).inputs, 0));
  return exchange_one(pairs, plan, dice);
}

/// At one end of a channel two values change places.
bool exchanged_in_message(Plan& plan, Dice& dice) {
  Pairs pairs;
  for (const At& at : all_of(plan, Opcode::send))
    add_pairs(pairs, plan, at.plan_class, operand(at.of(plan), at.in(plan).inputs, 0));
  for (const At& at : all_of(plan, Opcode::receive))
    add_pairs(pairs, plan, at.plan_class, operand(at.of(plan), at.in(plan).outputs, 0));
  return exchange_one(pairs, plan, dice);
}

/// At one end of a channel the message of several values gets a buffer of its own that contains none of them.
bool unparted_message(Plan& plan, Dice& dice) {
  std::vector<std::pair<std::size_t, std::uint32_t>> wholes;
  const auto add = [&](const At& at, Range operands) {
    const std::uint32_t whole = operand(at.of(plan), operands, 0);
    if (!parts_of(at.of(plan), whole).empty()) wholes.emplace_back(at.plan_class, whole);
  };
  for (const At& at : all_of(plan, Opcode::send)) add(at, at.in(plan).inputs);
  for (const At& at : all_of(plan, Opcode::receive)) add(at, at.in(plan).outputs);
  const auto* chosen = one_of(wholes, dice);
  if (chosen == nullptr) return false;
  PlanClass& c = plan.classes[chosen->first];
  Buffer copy = c.buffers[chosen->second];
  const auto fresh = static_cast<std::uint32_t>(c.buffers.size());
  copy.offset = c.devices[copy.device].step_bytes;
  c.devices[copy.device].step_bytes += (copy.bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
  c.buffers.push_back(std::move(copy));
  for (const Instruction& i : c.instructions)
    for (const Range range : {i.inputs, i.outputs})
      for (const std::uint32_t k : range)
        if (c.operands[k] == chosen->second) c.operands[k] = fresh;
  return true;
}

/// A random part; null when no buffer has any.
Buffer* a_part(Plan& plan, Dice& dice) {
  std::vector<Buffer*> parts;
  for (PlanClass& c : plan.classes)
    for (Buffer& b : c.buffers)
      if (is_part(c, b)) parts.push_back(&b);
  Buffer* const* part = one_of(parts, dice);
  return part == nullptr ? nullptr : *part;
}

bool shifted_part(Plan& plan, Dice& dice) {
  Buffer* part = a_part(plan, dice);
  if (part != nullptr) part->offset += dice.one_in(2) ? size_of(part->dtype) : -size_of(part->dtype);
  return part != nullptr;
}
bool part_of_another_dtype(Plan& plan, Dice& dice) {
  Buffer* part = a_part(plan, dice);
  if (part != nullptr) part->dtype = other_dtype(part->dtype);
  return part != nullptr;
}

/// The buffers that the instruction works on, with the numbers of inputs and outputs; for comparisons.
std::vector<std::uint32_t> buffers_of(const PlanClass& c, const Instruction& i) {
  std::vector<std::uint32_t> buffers{i.scratch};
  for (const Range range : {i.inputs, i.outputs}) {
    buffers.push_back(range.count);
    for (std::uint32_t k = 0; k < range.count; ++k) buffers.push_back(operand(c, range, k));
  }
  return buffers;
}

/// Two collective_waits of one class, which work on different buffers, exchange the collectives that they wait for.
bool exchanged_waits(Plan& plan, Dice& dice) {
  std::vector<std::pair<At, At>> pairs;
  const std::vector<At> all = all_of(plan, Opcode::collective_wait);
  for (const At& a : all)
    for (const At& b : all)
      if (a.plan_class == b.plan_class && a.index < b.index &&
          buffers_of(a.of(plan), a.in(plan)) != buffers_of(b.of(plan), b.in(plan)))
        pairs.emplace_back(a, b);
  const auto* pair = one_of(pairs, dice);
  if (pair != nullptr) std::swap(pair->first.in(plan).target, pair->second.in(plan).target);
  return pair != nullptr;
}

bool is_free(const Buffer& b) {
  return b.space == Buffer::Space::step && b.bytes > 0 && b.view_of == kNone && !b.bounded;
}

/// A value that a kernel writes, or reads, between a collective's start and the wait for it is moved onto a buffer that
/// the collective works on.
bool touched_meanwhile(Plan& plan, Dice& dice) {
  std::vector<std::tuple<std::size_t, std::uint32_t, std::uint32_t>> pairs;
  for (const At& start : all_of(plan, Opcode::collective)) {
    const PlanClass& c = start.of(plan);
    const Instruction& begun = start.in(plan);
    const auto pair_up = [&](Range touched, std::uint32_t used) {
      for (std::uint32_t n = 0; n < touched.count; ++n) {
        const std::uint32_t b = operand(c, touched, n);
        if (is_free(c.buffers[b]) && is_free(c.buffers[used]) && c.buffers[b].device == c.buffers[used].device)
          pairs.emplace_back(start.plan_class, b, used);
      }
    };
    for (std::size_t k = start.index + 1; k < c.instructions.size(); ++k) {
      const Instruction& i = c.instructions[k];
      if (i.what == Opcode::collective_wait && i.target == begun.target) break;
      if (i.what != Opcode::kernel) continue;
      if (begun.inputs.count > 0) pair_up(i.outputs, operand(c, begun.inputs, 0));
      for (const Range touched : {i.inputs, i.outputs}) {
        if (begun.outputs.count > 0) pair_up(touched, operand(c, begun.outputs, 0));
        if (begun.scratch != kNone) pair_up(touched, begun.scratch);
      }
    }
  }
  const auto* pair = one_of(pairs, dice);
  if (pair == nullptr) return false;
  const auto [plan_class, touched, used] = *pair;
  PlanClass& c = plan.classes[plan_class];
  const std::uint64_t by = c.buffers[used].offset - c.buffers[touched].offset;
  for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
    if (storage(c, b) == touched) c.buffers[b].offset += by;
  return true;
}

constexpr Mutation kBucketMutations[] = {
    {"exchanged values of a bucket", exchanged_values},    {"exchanged values of a message", exchanged_in_message},
    {"message of one value at one end", unparted_message}, {"shifted part", shifted_part},
    {"part of another dtype", part_of_another_dtype},      {"exchanged collective_waits", exchanged_waits},
    {"touched while summed", touched_meanwhile},
};

}  // namespace

std::span<const Mutation> bucket_mutations() {
  return kBucketMutations;
}

}  // namespace ferry::test
