// Changes of feeds, fetches, variables and copies.
#include <set>
#include <utility>
#include <vector>

#include "tests/equal/changes/families.hpp"
#include "tests/equal/changes/instructions.hpp"

namespace ferry::test {
namespace {

/// Exchanges two of `count` ports in the instructions of that kind.
bool exchange_ports(Plan& plan, Dice& dice, Opcode what, std::size_t count) {
  if (count < 2) return false;
  const std::uint32_t a = drawn(dice, count), b = drawn(dice, count);
  if (a == b) return false;
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions)
      if (i.what == what) i.target = i.target == a ? b : i.target == b ? a : i.target;
  return true;
}

bool exchange_fetches(Plan& plan, Dice& dice) {
  return exchange_ports(plan, dice, Opcode::fetch, plan.fetches.size());
}

bool exchange_feeds(Plan& plan, Dice& dice) {
  return exchange_ports(plan, dice, Opcode::feed, plan.feeds.size());
}

bool exchange_variables(Plan& plan, Dice& dice) {
  std::set<std::uint32_t> names;
  for (const PlanClass& c : plan.classes)
    for (const PlanVariable& v : c.variables) names.insert(v.name);
  if (names.size() < 2) return false;
  const std::vector<std::uint32_t> list(names.begin(), names.end());
  const std::uint32_t a = dice.of(list), b = dice.of(list);
  if (a == b) return false;
  for (PlanClass& c : plan.classes)
    for (PlanVariable& v : c.variables) {
      v.name = v.name == a ? b : v.name == b ? a : v.name;
      c.buffers[v.buffer].name = v.name;
    }
  return true;
}

bool leave_out_copy(Plan& plan, Dice& dice) {
  const auto chosen =
      some_of(plan, dice, [](const PlanClass&, const Instruction& i) { return i.what == Opcode::copy; });
  for (const At& place : chosen) leave_out(plan, place);
  return !chosen.empty();
}

/// Exchanges what two copies of one region copy.
bool exchange_copies(Plan& plan, Dice& dice) {
  const auto is_copy = [](const PlanClass&, const Instruction& i) { return i.what == Opcode::copy; };
  const auto all = all_of(plan, is_copy);
  if (all.size() < 2) return false;
  const At one = dice.of(all), other = dice.of(all);
  PlanClass& c = one.of(plan);
  if (one.plan_class != other.plan_class || one.index == other.index) return false;
  Instruction &a = one.in(plan), &b = other.in(plan);
  if (!same_type(c.buffers[c.inputs(a)[0]], c.buffers[c.inputs(b)[0]])) return false;
  std::swap(a.inputs, b.inputs);
  return true;
}

constexpr MeaningChange kChanges[] = {
    {"another value fetched", another_of<Opcode::fetch>},
    {"two fetches exchanged", exchange_fetches},
    {"two feeds exchanged", exchange_feeds},
    {"two variables exchanged", exchange_variables},
    {"a copy left out", leave_out_copy},
    {"another value copied", another_of<Opcode::copy>},
    {"what two copies copy exchanged", exchange_copies},
};

}  // namespace

std::span<const MeaningChange> port_changes() {
  return kChanges;
}

}  // namespace ferry::test
