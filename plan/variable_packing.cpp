#include "plan/variable_packing.hpp"

namespace ferry {
namespace {

/// The names of the variables with a buffer in `storages`, which has an entry for each buffer.
std::vector<std::string> names_in(const Plan& plan, const PlanClass& role, const std::vector<bool>& storages) {
  std::vector<std::string> names;
  for (const PlanVariable& variable : role.variables)
    if (storages[variable.buffer]) names.emplace_back(plan.string(variable.name));
  return names;
}

}  // namespace

Range variable_packing(const PlanClass& plan) {
  const Range setup = plan.regions[0].instructions;
  std::vector<bool> is_variable(plan.buffers.size(), false);
  for (const PlanVariable& variable : plan.variables) is_variable[variable.buffer] = true;
  std::uint32_t count = 0;
  for (; count < setup.count; ++count) {
    const auto inputs = plan.inputs(plan.instructions[setup[setup.count - 1 - count]]);
    bool packs = !inputs.empty();
    for (const BufferId b : inputs) packs = packs && is_variable[storage_of(plan, b)];
    if (!packs) break;
  }
  return {setup.first + setup.count - count, count};
}

std::vector<std::string> packed_variables(const Plan& plan, int task) {
  const PlanClass& role = plan.class_for(task);
  std::vector<bool> packed(role.buffers.size(), false);
  for (const std::uint32_t i : variable_packing(role))
    for (const BufferId b : role.inputs(role.instructions[i])) packed[storage_of(role, b)] = true;
  return names_in(plan, role, packed);
}

std::vector<std::string> written_variables(const Plan& plan, int task) {
  const PlanClass& role = plan.class_for(task);
  std::vector<bool> written(role.buffers.size(), false);
  for (const Instruction& i : role.instructions)
    for (const BufferId b : role.outputs(i)) written[storage_of(role, b)] = true;
  return names_in(plan, role, written);
}

}  // namespace ferry
