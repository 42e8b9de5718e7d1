#include "placement/choose/choose_layouts.hpp"

#include "placement/choose/compare_layouts.hpp"
#include "placement/choose/model.hpp"
#include "placement/choose/problem_text.hpp"
#include "placement/solve/frontier.hpp"
#include "placement/solve/solve_within.hpp"

namespace ferry {
namespace {

/// The most calls of solve() for a bound within a limit of memory, and their work.
constexpr std::size_t kMostSolves = 200, kSolverWork = 400'000;

}  // namespace

void choose_layouts(Program& program) {
  if (program.auto_where == kNone) return;
  const AutoMesh& mesh = *program.auto_mesh;
  const LayoutModel model = LayoutModel::of(program);
  const Problem& problem = model.problem();
  const Solution solution =
      mesh.choices.empty() ? solve(problem) : Solution{mesh.choices, problem.value(mesh.choices), mesh.choices_bound};
  if (solution.value >= kImpossible) return;  // the annotations leave the model no choice; reshard chooses op by op
  program.chosen = model.layouts(solution.choices);
  program.choices = solution.choices;
  program.cost_unit = model.unit();
  program.chosen_cost = solution.value * model.unit();
  program.chosen_bound = solution.bound * model.unit();
  if (mesh.bounds_within_memory)
    program.chosen_bound = solve_within(problem, model.memory(), *mesh.most_bytes, solution,
                                        {.solves = solves_for(problem, kMostSolves, kSolverWork)})
                               .bound *
                           model.unit();
  program.chosen_bytes = model.memory().peak(problem, solution.choices).bytes;
  if (mesh.finds_frontier) program.frontier = frontier(problem, model.memory(), solution);
  if (program.options.dumps_problem) program.problem = problem_text(problem, model.memory(), solution.choices);
  if (!program.options.compared.empty()) program.alternatives = compare_layouts(program, program.options.compared);
}

}  // namespace ferry
