#include "tests/equal/changes/instructions.hpp"

#include <algorithm>
#include <set>

namespace ferry::test {
namespace {

/// Another buffer like `buffer`, with another name.
std::uint32_t another_like(const PlanClass& c, std::uint32_t buffer, Dice& dice) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
    if (b != buffer && same_type(c.buffers[b], c.buffers[buffer]) && c.buffers[b].name != c.buffers[buffer].name &&
        c.buffers[b].space != Buffer::Space::none && c.buffers[b].name != kNone)
      all.push_back(b);
  return all.empty() ? kNone : dice.of(all);
}

}  // namespace

std::uint32_t drawn(Dice& dice, std::size_t count) {
  return static_cast<std::uint32_t>(dice.below(count));
}

std::vector<At> some_of(const Plan& plan, Dice& dice, const Wanted& wanted) {
  const std::vector<At> found = all_of(plan, wanted);
  if (found.empty()) return {};
  const At chosen = dice.of(found);
  const Instruction& like = plan.classes[chosen.plan_class].instructions[chosen.index];
  std::vector<At> alike;
  std::set<std::size_t> classes;
  for (const At& other : found) {
    const Instruction& i = plan.classes[other.plan_class].instructions[other.index];
    const bool same = i.what == like.what && i.op == like.op && i.name == like.name && i.target == like.target;
    const bool is_chosen = other.plan_class == chosen.plan_class && other.index == chosen.index;
    if (is_chosen || (same && other.plan_class != chosen.plan_class && classes.insert(other.plan_class).second))
      alike.push_back(other);
  }
  return alike;
}

bool same_type(const Buffer& a, const Buffer& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.window == b.window && a.bounded == b.bounded &&
         a.device == b.device;
}

void set_operands(PlanClass& c, Range& range, const std::vector<std::uint32_t>& buffers) {
  range = {static_cast<std::uint32_t>(c.operands.size()), static_cast<std::uint32_t>(buffers.size())};
  c.operands.insert(c.operands.end(), buffers.begin(), buffers.end());
}

std::vector<std::uint32_t> listed(const PlanClass& c, Range range) {
  const auto span = c.operands_of(range);
  return {span.begin(), span.end()};
}

void leave_out(Plan& plan, At at) {
  drop(plan, at);
  at.of(plan).stretches.clear();
}

void insert(PlanClass& c, std::size_t index, const Instruction& instruction) {
  c.instructions.insert(c.instructions.begin() + static_cast<std::ptrdiff_t>(index), instruction);
  for (Region& region : c.regions) {
    if (region.instructions.first > index)
      ++region.instructions.first;
    else if (region.instructions.first + region.instructions.count > index)
      ++region.instructions.count;
  }
  c.stretches.clear();
}

bool read_another(Plan& plan, Dice& dice, const Wanted& wanted, bool output) {
  const auto chosen = some_of(plan, dice, [&](const PlanClass& c, const Instruction& i) {
    return wanted(c, i) && (output ? i.outputs : i.inputs).count > 0;
  });
  if (chosen.empty()) return false;
  PlanClass& first = chosen[0].of(plan);
  const Range range = output ? chosen[0].in(plan).outputs : chosen[0].in(plan).inputs;
  const std::uint32_t k = dice.below(range.count);
  const std::uint32_t other = another_like(first, first.operands[range[k]], dice);
  if (other == kNone) return false;
  const std::uint32_t name = first.buffers[other].name;
  for (const At& place : chosen) {
    PlanClass& c = place.of(plan);
    Range& operands = output ? place.in(plan).outputs : place.in(plan).inputs;
    auto list = listed(c, operands);
    if (k >= list.size()) continue;
    for (std::uint32_t b = 0; b < c.buffers.size(); ++b)
      if (c.buffers[b].name == name && same_type(c.buffers[b], c.buffers[list[k]]) &&
          c.buffers[b].space != Buffer::Space::none) {
        list[k] = b;
        break;
      }
    set_operands(c, operands, list);
  }
  return true;
}

}  // namespace ferry::test
