#include "placement/class/pack_inputs.hpp"

#include <utility>
#include <vector>

namespace ferry {

void pack_inputs(ClassPlan& plan) {
  const auto packing = std::exchange(plan.packing, {});
  if (packing.empty()) return;
  std::vector<Instruction> setup;
  for (const Instruction& instruction : plan.list(0)) {
    setup.push_back(instruction);
    for (const BufferId b : plan.role.outputs(instruction))
      if (const auto found = packing.find(b); found != packing.end())
        setup.insert(setup.end(), found->second.begin(), found->second.end());
  }
  for (const PlanVariable& variable : plan.role.variables)
    if (const auto found = packing.find(variable.buffer); found != packing.end())
      setup.insert(setup.end(), found->second.begin(), found->second.end());
  plan.list(0) = std::move(setup);
}

}  // namespace ferry
