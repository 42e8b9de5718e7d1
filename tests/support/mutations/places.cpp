#include "tests/support/mutations/places.hpp"

#include <algorithm>

#include "tests/support/plans.hpp"

namespace ferry::test {

std::vector<At> all_of(const Plan& plan, const Wanted& wanted) {
  std::vector<At> found;
  for (std::size_t c = 0; c < plan.classes.size(); ++c)
    for (std::size_t i = 0; i < plan.classes[c].instructions.size(); ++i)
      if (wanted(plan.classes[c], plan.classes[c].instructions[i])) found.push_back({c, i});
  return found;
}

std::vector<At> all_of(const Plan& plan, Opcode what) {
  return all_of(plan, [what](const PlanClass&, const Instruction& i) { return i.what == what; });
}

std::uint32_t operand(const PlanClass& c, Range range, std::uint32_t k) {
  return c.operands[range[k]];
}

std::size_t region_of(const PlanClass& c, std::size_t index) {
  for (std::size_t r = 0; r < c.regions.size(); ++r) {
    const Range range = c.regions[r].instructions;
    if (index >= range.first && index < range.first + range.count) return r;
  }
  return 0;
}

void drop(Plan& plan, At at) {
  erase_instruction(at.of(plan), at.index);
}

bool drop_one(Plan& plan, Dice& dice, Opcode what) {
  const std::vector<At> all = all_of(plan, what);
  const At* at = one_of(all, dice);
  if (at != nullptr) drop(plan, *at);
  return at != nullptr;
}

void move(PlanClass& c, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t i) { return c.instructions.begin() + static_cast<std::ptrdiff_t>(i); };
  if (from < to)
    std::rotate(at(from), at(from) + 1, at(to) + 1);
  else
    std::rotate(at(to), at(from), at(from) + 1);
}

std::uint32_t storage(const PlanClass& c, std::uint32_t b) {
  return c.buffers[b].view_of == kNone ? BufferId(b) : c.buffers[b].view_of;
}

std::vector<std::size_t> collectives(const Plan& plan, const std::function<bool(const Collective&)>& wanted) {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < plan.collectives.size(); ++k)
    if (plan.schedules[plan.collectives[k].schedule].members > 1 && wanted(plan.collectives[k])) found.push_back(k);
  return found;
}

std::set<std::uint32_t> classes_in(const Plan& plan, const Collective& collective) {
  std::set<std::uint32_t> classes;
  for (const auto& group : plan.groupings[collective.grouping])
    for (std::int32_t task : group) classes.insert(plan.class_of[task]);
  return classes;
}

DType other_dtype(DType dtype) {
  for (const DType other : kDTypes)
    if (other != dtype && size_of(other) == size_of(dtype)) return other;
  return dtype;
}

}  // namespace ferry::test
