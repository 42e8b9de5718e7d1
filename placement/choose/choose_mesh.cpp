#include "placement/choose/choose_mesh.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/needed.hpp"
#include "placement/choose/judge.hpp"
#include "placement/choose/problem_text.hpp"
#include "placement/solve/frontier.hpp"

namespace ferry {
namespace {

/// The largest job, in tasks, for which meshes with two axes other than hosts × tasks of a host are tried.
constexpr std::int64_t kMostTasksForFactors = 16;

constexpr int kTries = 3;  // of limits of memory by the model

std::string name_of(const AutoPlace& place) {
  if (place.stages) return "pipeline of " + plural(place.stages->count, "stage");
  if (!place.mesh) return "as annotated";
  std::vector<std::string> sizes;
  for (const std::int64_t size : place.mesh->axes) sizes.push_back(std::to_string(size));
  return "mesh " + join(sizes, "x") + (place.mesh->replicates_variables ? " with whole variables" : "");
}

/// The number of hosts if all have the same number of tasks, with consecutive numbers; else 1.
std::int64_t even_hosts(const Topology& topology) {
  std::set<std::int32_t> hosts;
  for (const TaskInfo& task : topology.tasks) hosts.insert(task.host);
  const auto count = static_cast<std::int64_t>(hosts.size());
  const auto tasks = static_cast<std::int64_t>(topology.tasks.size());
  if (tasks % count != 0) return 1;
  const auto on_each = static_cast<std::size_t>(tasks / count);
  for (std::size_t task = 0; task < topology.tasks.size(); ++task)
    if (topology.tasks[task].host != topology.tasks[task / on_each * on_each].host) return 1;
  return count;
}

std::vector<AutoPlace> candidates(const Topology& topology) {
  const auto tasks = static_cast<std::int64_t>(topology.size());
  std::vector<AutoPlace> all{AutoPlace{}};
  if (tasks == 1) return all;
  all.push_back({AutoMesh{{tasks}, true}});
  all.push_back({AutoMesh{{tasks}, false}});
  std::set<std::int64_t> firsts;
  if (const std::int64_t hosts = even_hosts(topology); hosts > 1 && hosts < tasks) firsts.insert(hosts);
  for (std::int64_t first = 2; first < tasks && tasks <= kMostTasksForFactors; ++first)
    if (tasks % first == 0) firsts.insert(first);
  for (const std::int64_t first : firsts) all.push_back({AutoMesh{{first, tasks / first}, false}});
  return all;
}

std::map<OpId, Layout> layouts_of_variables(const Program& program) {
  std::map<OpId, Layout> layouts;
  for (const auto& [value, layout] : program.chosen.laid)
    if (const Node& node = program.nodes[program.values[value].producer]; node.kind == NodeKind::variable)
      layouts.emplace(node.op, layout);
  return layouts;
}

double seconds(std::int64_t picoseconds) {
  return seconds_of(static_cast<double>(picoseconds));
}

/// A placement that was planned.
struct Trial {
  AutoPlace place;
  Program program;
  StepTime time;
  std::int64_t bound = 0;        // lower bound in picoseconds: by the model, no layouts take less
  std::int64_t needed = 0;       // bytes that the task or host with the least memory left needs, if there are limits
  std::int64_t model_limit = 0;  // bytes, by the model, of layouts with which 0 bytes would be left there
};

class MeshChooser {
 public:
  explicit MeshChooser(const MeshPlanning& planning) : planning_(planning) {}

  /// Compares these placements and, if the fastest does not fit the limits, these and stages.
  void run(const std::vector<AutoPlace>& places, const std::function<std::vector<AutoStages>()>& stages) {
    for (const AutoPlace& place : places) add(planned(place));
    if (trials_.empty()) std::rethrow_exception(failed_);
    if (!planning_.limits.any() || fits(*fastest())) return;
    limited_ = true;
    for (Trial& trial : std::exchange(trials_, {})) add(planned_to_fit(std::move(trial)));
    for (AutoStages& some : stages()) add_stages(std::move(some));
    if (trials_.empty()) throw *refusal_;
    improve_within_memory();
  }

  /// The fastest trial; of several, the first.
  [[nodiscard]] std::deque<Trial>::iterator fastest() {
    return std::ranges::min_element(trials_, {}, [](const Trial& trial) { return trial.time.step; });
  }

  /// The limit of memory, by the model, of layouts on the mesh of the fastest trial.
  [[nodiscard]] std::optional<std::int64_t> most_bytes() {
    return planning_.limits.any() ? std::optional(fastest()->model_limit) : std::nullopt;
  }

  /// Takes the program of the fastest trial.
  MeshChoice choice() {
    Trial& best = *fastest();
    MeshChoice choice{best.place, {}, {}};
    if (std::optional<AutoMesh>& mesh = choice.place.mesh) {
      mesh->variables = layouts_of_variables(best.program);
      mesh->choices = best.program.choices;
      mesh->finds_frontier = false;
      mesh->most_bytes = most_bytes();
    }
    AutoPlacement& report = choice.report;
    for (const Trial& trial : trials_) report.candidates.push_back({name_of(trial.place), seconds(trial.time.step)});
    report.taken = static_cast<std::size_t>(fastest() - trials_.begin());
    report.step_seconds = seconds(best.time.step);
    report.computing_seconds = seconds(best.time.computing);
    report.message_seconds = seconds(best.time.messages);
    report.model_seconds = seconds(best.program.chosen_cost);
    report.bound_seconds = seconds(best.bound);
    report.problem = problem_of_fastest_mesh();
    if (limited_) {
      report.memory_bytes = best.needed;
      report.model_bytes = best.program.chosen_bytes;
      report.bound_bytes = best.model_limit;
    }
    choice.program = std::move(best.program);
    return choice;
  }

 private:
  void add(std::optional<Trial> trial) {
    if (trial) trials_.push_back(std::move(*trial));
  }

  /// Adds the stages if their plan fits the memory limits. Of those with equally many stages, keeps the fastest.
  void add_stages(AutoStages stages) {
    std::optional<Trial> trial = planned({{}, std::move(stages)});
    if (!trial || !fits(*trial)) return;
    const int count = trial->place.stages->count;
    const bool is_new = trials_.empty() || !trials_.back().place.stages || trials_.back().place.stages->count != count;
    if (is_new)
      trials_.push_back(std::move(*trial));
    else if (trial->time.step < trials_.back().time.step)
      trials_.back() = std::move(*trial);
  }

  std::optional<Trial> planned(const AutoPlace& place) {
    try {
      Program program = planning_.placed(place);
      const StepTime time = judge(program);
      const std::int64_t bound = program.chosen_bound;
      return Trial{place, std::move(program), time, bound};
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;
      if (!failed_) failed_ = std::current_exception();
      return std::nullopt;
    }
  }

  /// Plans the mesh of the trial with each of the layouts of the frontier, and returns the fastest plan that fits the
  /// memory limits.
  std::optional<Trial> planned_to_fit(Trial trial) {
    AutoPlace place = trial.place;
    LayoutFrontier frontier;
    if (!trial.program.choices.empty()) {
      place.mesh->choices = trial.program.choices;
      place.mesh->choices_bound = trial.program.chosen_bound / trial.program.cost_unit;
      place.mesh->finds_frontier = true;
      frontier = planning_.placed(place).frontier;
      place.mesh->finds_frontier = false;
    }
    std::optional<Trial> best;
    if (fits(trial)) best = std::move(trial);
    for (std::size_t point = 1; point < frontier.points.size(); ++point) {
      place.mesh->choices = frontier.points[point].choices;
      std::optional<Trial> slim = planned(place);
      if (slim && (!best || slim->time.step < best->time.step) && fits(*slim)) best = std::move(slim);
    }
    if (best) best->bound = bound_within(frontier, best->model_limit) * best->program.cost_unit;
    return best;
  }

  /// Improves the trials within their limits of memory, the fastest first, if they may become the fastest.
  void improve_within_memory() {
    std::vector<Trial*> order;
    for (Trial& trial : trials_) order.push_back(&trial);
    std::ranges::stable_sort(order, {}, [](const Trial* trial) { return trial->time.step; });
    for (Trial* trial : order)
      if (trial->bound < fastest()->time.step) improve_within_memory(*trial);
  }

  /// Solves the trial's problem within the memory of its limit by the model, and keeps a faster plan that fits. The
  /// memory of a plan differs from the model's memory, so the limit by the model follows the plan that was made last.
  void improve_within_memory(Trial& trial) {
    if (!trial.place.mesh || trial.program.choices.empty()) return;
    AutoPlace place = trial.place;
    place.mesh->finds_frontier = false;
    place.mesh->solves_within_memory = true;
    std::int64_t limit = trial.model_limit;
    for (int tries = 0; tries < kTries; ++tries) {
      place.mesh->choices = trial.program.choices;
      place.mesh->most_bytes = limit;
      std::optional<Trial> found = planned(place);
      if (!found || found->program.choices.empty()) return;
      if (limit == trial.model_limit) trial.bound = std::max(trial.bound, found->bound);
      const bool fitting = fits(*found);
      const std::int64_t next = std::exchange(found->model_limit, limit);
      if (fitting && found->time.step < trial.time.step) trial = std::move(*found);
      if (next == limit || fitting == (next < limit)) return;
      limit = next;
    }
  }

  /// Finishes the plan and checks its memory. Keeps the error of the plan that exceeds the limits by the fewest bytes.
  bool fits(Trial& trial) {
    const Plan plan = planning_.finished(trial.program);
    const std::optional<MemoryLimits::Need> need = planning_.limits.tightest(plan);
    trial.model_limit = trial.program.chosen_bytes + (need ? need->left() / need->tasks : 0);
    if (!need) return true;
    trial.needed = need->needed;
    if (need->left() >= 0) return true;
    if (refusal_ && need->left() <= most_left_) return false;
    most_left_ = need->left();
    refusal_ = planning_.limits.refusal(plan, *need, name_of(trial.place));
    return false;
  }

  /// The layout problem of the fastest mesh with its solution, for PlanOptions::dumps_problem.
  std::string problem_of_fastest_mesh() {
    const Trial* fastest = nullptr;
    for (const Trial& trial : trials_)
      if (!trial.program.problem.choices.empty() && (fastest == nullptr || trial.time.step < fastest->time.step))
        fastest = &trial;
    if (fastest == nullptr) return {};
    return problem_file(fastest->program, name_of(fastest->place), fastest->bound,
                        limited_ ? std::optional(fastest->model_limit) : std::nullopt);
  }

  const MeshPlanning& planning_;
  std::deque<Trial> trials_;
  std::exception_ptr failed_;
  bool limited_ = false;
  std::optional<Error> refusal_;
  std::int64_t most_left_ = 0;
};

}  // namespace

MeshChoice choose_mesh(const Topology& topology, const MeshPlanning& planning) {
  MeshChooser chooser(planning);
  chooser.run(candidates(topology), planning.stages);
  return chooser.choice();
}

void set_fitting_choices(AutoMesh& mesh, const MeshPlanning& planning) {
  MeshChooser chooser(planning);
  chooser.run({AutoPlace{mesh}}, [] { return std::vector<AutoStages>{}; });
  mesh.choices = chooser.fastest()->program.choices;
  mesh.most_bytes = chooser.most_bytes();
}

std::optional<Signature> deciding_request(const Graph& graph) {
  const auto entry = graph.entries().find("train");
  if (entry == graph.entries().end()) return std::nullopt;
  Signature signature;
  for (const Entry::Named& fetch : entry->second.fetches) signature.fetches.push_back(fetch.value);
  signature.targets = entry->second.targets;
  std::ranges::sort(signature.targets);
  const std::vector<bool> needed = needed_ops(graph, signature.fetches, signature.targets);
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    if (!needed[id] || op.def().role != OpRole::input) continue;
    Signature::Feed feed{op.output(0), 0, {}};
    for (const Dim& dim : graph.type(op.output(0)).shape.dims())
      feed.sizes.push_back(dim.known() ? dim.size() : kOpenSize);
    signature.feeds.push_back(std::move(feed));
  }
  std::ranges::sort(signature.feeds, {}, &Signature::Feed::value);
  return signature;
}

}  // namespace ferry
