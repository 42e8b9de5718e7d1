#include "placement/choose/choose_layouts.hpp"

#include "placement/choose/compare_layouts.hpp"
#include "placement/choose/model.hpp"
#include "placement/choose/problem_text.hpp"
#include "placement/solve/frontier.hpp"
#include "placement/solve/solve_within.hpp"

namespace ferry {
namespace {

/// The most calls of solve() within a limit of memory, and their work.
constexpr std::size_t kMostSolves = 200, kSolverWork = 400'000;

Solution solution_of(const LayoutModel& model, const AutoMesh& mesh) {
  const Problem& problem = model.problem();
  if (mesh.choices.empty()) return solve(problem);
  const Solution given{mesh.choices, problem.value(mesh.choices), mesh.choices_bound};
  if (!mesh.solves_within_memory) return given;
  const bool fits = model.memory().peak(problem, mesh.choices).bytes <= *mesh.most_bytes;
  return solve_within(problem, model.memory(), *mesh.most_bytes, fits ? given : kNoSolution,
                      {.solves = solves_for(problem, kMostSolves, kSolverWork)});
}

}  // namespace

void choose_layouts(Program& program) {
  if (program.auto_where == kNone) return;
  const AutoMesh& mesh = *program.auto_mesh;
  const LayoutModel model = LayoutModel::of(program);
  const Problem& problem = model.problem();
  const Solution solution = solution_of(model, mesh);
  if (solution.value >= kImpossible) return;  // the annotations leave the model no choice; reshard chooses op by op
  program.chosen = model.layouts(solution.choices);
  program.choices = solution.choices;
  program.cost_unit = model.unit();
  program.chosen_cost = solution.value * model.unit();
  program.chosen_bound = solution.bound * model.unit();
  program.chosen_bytes = model.memory().peak(problem, solution.choices).bytes;
  if (mesh.finds_frontier) program.frontier = frontier(problem, model.memory(), solution);
  if (program.options.dumps_problem) program.problem = problem_text(problem, model.memory(), solution.choices);
  if (!program.options.compared.empty()) program.alternatives = compare_layouts(program, program.options.compared);
}

}  // namespace ferry
