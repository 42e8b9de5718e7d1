// Changes of branches, loops, regions of kernels that run together, and effects.
#include <utility>

#include "tests/equal/changes/families.hpp"
#include "tests/equal/changes/instructions.hpp"

namespace ferry::test {
namespace {

bool exchange_sides(Plan& plan, Dice& dice) {
  const auto chosen =
      some_of(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::branch; });
  for (const At& place : chosen) std::swap(place.in(plan).target, place.in(plan).other);
  return !chosen.empty();
}

bool another_condition(Plan& plan, Dice& dice) {
  return read_another(plan, dice, [](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::loop || i.what == Opcode::branch;
  });
}

bool exchange_results(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [](const PlanClass& c, const Instruction& i) {
    const auto outputs = c.outputs(i);
    return outputs.size() >= 2 && same_type(c.buffers[outputs[0]], c.buffers[outputs[1]]);
  });
  for (const At& place : chosen) {
    PlanClass& c = place.of(plan);
    auto outputs = listed(c, place.in(plan).outputs);
    std::swap(outputs[0], outputs[1]);
    set_operands(c, place.in(plan).outputs, outputs);
  }
  return !chosen.empty();
}

bool exchange_in_region(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [](const PlanClass& c, const Instruction& i) {
    return (i.what == Opcode::tiles || i.what == Opcode::stencil) && c.regions[i.region()].instructions.count >= 2;
  });
  for (const At& place : chosen) {
    PlanClass& c = place.of(plan);
    const Range members = c.regions[place.in(plan).target].instructions;
    const std::uint32_t k = members[dice.below(members.count - 1)];
    std::swap(c.instructions[k], c.instructions[k + 1]);
  }
  return !chosen.empty();
}

bool leave_out_effect(Plan& plan, Dice& dice) {
  const auto chosen = some_of(plan, dice, [&](const PlanClass&, const Instruction& i) {
    return i.what == Opcode::kernel && plan.string(i.op) == "Print";
  });
  for (const At& place : chosen) {
    Instruction& i = place.in(plan);
    i.what = Opcode::copy;
    i.op = i.attrs = i.scratch = kNone;
    i.in_place = 0;
  }
  return !chosen.empty();
}

constexpr MeaningChange kChanges[] = {
    {"the sides of a branch exchanged", exchange_sides},
    {"another condition", another_condition},
    {"two results exchanged", exchange_results},
    {"two kernels of a region exchanged", exchange_in_region},
    {"an effect left out", leave_out_effect},
};

}  // namespace

std::span<const MeaningChange> control_changes() {
  return kChanges;
}

}  // namespace ferry::test
