// Mutations of regions, of conditions, and of the class that a task has.
#include <algorithm>

#include "tests/support/mutations/families.hpp"
#include "tests/support/mutations/places.hpp"

namespace ferry::test {
namespace {

bool wrong_regions(Plan& plan, Dice& dice) {
  const std::vector<At> loops = all_of(plan, Opcode::loop);
  const At* at = one_of(loops, dice);
  if (at != nullptr) std::swap(at->in(plan).target, at->in(plan).other);
  return at != nullptr;
}
bool instruction_of_no_region(Plan& plan, Dice& dice) {
  PlanClass& c = plan.classes[dice.below(plan.classes.size())];
  Range& range = c.regions[dice.below(c.regions.size())].instructions;
  if (range.count == 0) return false;
  --range.count;
  return true;
}
/// In one of its several classes, a collective moves from a body to the end of the step.
bool collective_out_of_body(Plan& plan, Dice& dice) {
  std::vector<At> inside = all_of(plan, Opcode::collective);
  std::erase_if(inside, [&](const At& at) {
    return region_of(at.of(plan), at.index) < 2 || classes_in(plan, plan.collectives[at.in(plan).target]).size() < 2;
  });
  const At* at = one_of(inside, dice);
  if (at == nullptr) return false;
  const Instruction moved = at->in(plan);
  drop(plan, *at);
  PlanClass& c = at->of(plan);
  const std::uint32_t end = c.regions[1].instructions.first + c.regions[1].instructions.count;
  c.instructions.insert(c.instructions.begin() + end, moved);
  ++c.regions[1].instructions.count;
  for (std::size_t r = 0; r < c.regions.size(); ++r)
    if (r != 1 && c.regions[r].instructions.first >= end) ++c.regions[r].instructions.first;
  return true;
}
bool wrong_condition(Plan& plan, Dice& dice) {
  const std::vector<At> all = all_of(plan, dice.one_in(2) ? Opcode::loop : Opcode::branch);
  const At* at = one_of(all, dice);
  if (at == nullptr) return false;
  at->of(plan).buffers[operand(at->of(plan), at->in(plan).inputs, 0)].dtype = DType::uint8;
  return true;
}
/// A task gets the class of another one.
bool wrong_class(Plan& plan, Dice& dice) {
  if (plan.classes.size() < 2) return false;
  const std::size_t task = dice.below(plan.class_of.size());
  const PlanClass& c = plan.classes[plan.class_of[task]];
  const auto speaks = [](const Instruction& i) { return i.what == Opcode::send || i.what == Opcode::receive; };
  if (std::none_of(c.instructions.begin(), c.instructions.end(), speaks)) return false;
  plan.class_of[task] = (plan.class_of[task] + 1) % static_cast<std::uint32_t>(plan.classes.size());
  return true;
}

constexpr Mutation kRegionMutations[] = {
    {"exchanged regions", wrong_regions},
    {"instruction of no region", instruction_of_no_region},
    {"collective out of its body", collective_out_of_body},
    {"wrong condition", wrong_condition},
    {"wrong class", wrong_class},
};

}  // namespace

std::span<const Mutation> region_mutations() {
  return kRegionMutations;
}

}  // namespace ferry::test
