#include "placement/choose/choose_layouts.hpp"

#include "placement/choose/model.hpp"

namespace ferry {

void choose_layouts(Program& program) {
  if (program.auto_where == kNone) return;
  const LayoutModel model = LayoutModel::of(program);
  const Solution solution = solve(model.problem());
  program.chosen = model.layouts(solution.choices);
  program.chosen_value = solution.value;
  program.chosen_bound = solution.bound;
}

}  // namespace ferry
