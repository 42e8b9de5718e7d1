#include "placement/choose/choose_layouts.hpp"

#include "placement/choose/compare_layouts.hpp"
#include "placement/choose/model.hpp"

namespace ferry {

void choose_layouts(Program& program) {
  if (program.auto_where == kNone) return;
  const LayoutModel model = LayoutModel::of(program);
  const Solution solution = solve(model.problem());
  if (solution.value >= kImpossible) return;  // annotations admit no choice by the model; reshard chooses op by op
  program.chosen = model.layouts(solution.choices);
  program.chosen_value = solution.value * model.unit();
  program.chosen_bound = solution.bound * model.unit();
  if (!program.options.compared.empty()) program.alternatives = compare_layouts(program, program.options.compared);
}

}  // namespace ferry
