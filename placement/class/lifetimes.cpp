#include "placement/class/lifetimes.hpp"

#include <algorithm>

namespace ferry {
namespace {

std::uint32_t used_strands(const PlanClass& plan) {
  std::uint32_t strands = 1;
  for (const Instruction& i : plan.instructions) strands = std::max(strands, i.strand + 1U);
  return strands;
}

}  // namespace

Lifetimes::Lifetimes(const PlanClass& plan)
    : plan_(plan),
      strands_(used_strands(plan)),
      all_(plan.buffers.size()),
      last_on_(strands_ > 1 ? plan.buffers.size() * strands_ : 0, 0),
      spans_(plan.regions.size()),
      position_(plan.instructions.size()) {
  for (RegionId region : {0U, 1U}) number(region, kNone, 0);
  for (RegionId region : {0U, 1U}) touch_region(region, region == 0);
  for (RegionId region : {0U, 1U}) extend_region(region);
}

std::uint32_t Lifetimes::end_of(std::uint32_t instruction) const {
  const Instruction& i = plan_.instructions[instruction];
  return i.what == Opcode::loop || i.what == Opcode::branch ? spans_[i.other_region()].end : position_[instruction];
}

template <class F>
void Lifetimes::each_nested(const Instruction& instruction, F f) {
  if (instruction.what != Opcode::loop && instruction.what != Opcode::branch) return;
  f(instruction.region());
  f(instruction.other_region());
}

template <class F>
void Lifetimes::each_instruction(RegionId region, F f) {
  const Range range = plan_.regions[region].instructions;
  for (const std::uint32_t i : range) f(i, plan_.instructions[i]);
}

template <class F>
void Lifetimes::each_operand(const Instruction& instruction, F f) {
  for (const Range range : {instruction.inputs, instruction.outputs})
    for (const BufferId b : plan_.operands_of(range)) f(storage_of(plan_, b));
  if (instruction.scratch != kNone) f(instruction.scratch);
}

/// Calls f for the buffers that the loop's body swaps with carried values.
template <class F>
void Lifetimes::each_swapped(const Instruction& loop, F f) {
  if (loop.what != Opcode::loop) return;
  each_instruction(loop.other_region(), [&](std::uint32_t, const Instruction& instruction) {
    if (instruction.swaps()) f(storage_of(plan_, plan_.inputs(instruction)[0]));
  });
}

void Lifetimes::number(RegionId region, std::uint32_t parent, std::uint32_t depth) {
  spans_[region] = {parent, depth, next_, next_};
  each_instruction(region, [&](std::uint32_t i, const Instruction& instruction) {
    position_[i] = next_++;
    each_nested(instruction, [&](std::uint32_t nested) { number(nested, region, depth + 1); });
    if (instruction.what == Opcode::loop)  // its condition is computed again after its body
      spans_[instruction.region()].end = spans_[instruction.other_region()].end;
  });
  spans_[region].end = next_++;
}

void Lifetimes::touch_region(RegionId region, bool setup) {
  each_instruction(region, [&](std::uint32_t, const Instruction& instruction) {
    each_operand(instruction, [&](BufferId buffer) {
      Lifetime& life = all_[buffer];
      life.region = life.region == kNone ? region.number() : common(life.region, region);
      (setup ? life.in_setup : life.in_step) = true;
    });
    each_nested(instruction, [&](std::uint32_t nested) { touch_region(nested, setup); });
    each_swapped(instruction, [&](BufferId buffer) { all_[buffer].region = common(all_[buffer].region, region); });
  });
}

std::uint32_t Lifetimes::common(std::uint32_t a, std::uint32_t b) const {
  while (a != b) {
    std::uint32_t& deeper = spans_[a].depth >= spans_[b].depth ? a : b;
    if (spans_[deeper].parent == kNone) return a < b ? a : b;  // setup and step: the buffer will be state
    deeper = spans_[deeper].parent;
  }
  return a;
}

void Lifetimes::extend_region(RegionId region) {
  each_instruction(region, [&](std::uint32_t i, const Instruction& instruction) {
    const auto touch = [&](BufferId buffer, std::uint32_t position) {
      const std::uint32_t last = extend(all_[buffer], region, position);
      if (strands_ == 1) return;
      // A body runs as part of its owner, which is on thread 0. The setup also runs on thread 0, before the step.
      std::uint32_t& on_strand = last_on_[buffer * strands_ + (region == 1 ? instruction.strand : 0U)];
      on_strand = std::max(on_strand, last);
    };
    each_operand(instruction, [&](BufferId buffer) { touch(buffer, position_[i]); });
    if (instruction.what == Opcode::loop)  // its outputs live to its end, even if its body does not touch them
      for (const BufferId b : plan_.outputs(instruction)) touch(storage_of(plan_, b), end_of(i));
    each_swapped(instruction, [&](BufferId buffer) {  // it lives as long as the loop
      touch(buffer, position_[i]);
      touch(buffer, end_of(i));
    });
    each_nested(instruction, [&](std::uint32_t nested) { extend_region(nested); });
  });
}

/// Extends the lifetime by a touch. A touch in a region nested in the buffer's region lasts for that whole nested
/// region, because it may be repeated. Returns the last position of the touch.
std::uint32_t Lifetimes::extend(Lifetime& life, RegionId region, std::uint32_t position) {
  std::uint32_t first = position, last = position;
  while (region != life.region && region != kNone) {
    first = spans_[region].begin;
    last = spans_[region].end;
    region = spans_[region].parent;
  }
  life.first = std::min(life.first, first);
  life.last = std::max(life.last, last);
  return last;
}

}  // namespace ferry
