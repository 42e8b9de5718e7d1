#include "executor/session/session.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/float_state.hpp"
#include "base/numbers.hpp"
#include "executor/job/fit.hpp"
#include "executor/session/fixed_plan.hpp"
#include "executor/session/task_group.hpp"
#include "executor/session/task_session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/op_set.hpp"
#include "plan/plan.hpp"

namespace ferry {
namespace {

/// A graph that sets the variables of `model` from feeds at task 0.
class RestoreGraph {
 public:
  RestoreGraph(const Graph& model, const TensorMap& values) {
    for (const Mesh& mesh : model.meshes()) graph_.mesh(mesh);
    for (OpId id : model.variables()) {
      const Op op = model.op(id);
      const Type& type = model.type(op.output(0));
      const SourceLine line = op.line();
      const Value variable =
          graph_.add(kVariable, {}, {{"dtype", type.dtype}, {"shape", type.shape}}, line)[0].named(op.name());
      const std::string feed = std::string(op.name()) + "/restored";
      const Value input = graph_.add(kInput, {}, {{"dtype", type.dtype}, {"shape", type.shape}}, line)[0].named(feed);
      graph_.annotate(variable.op().id(), op.annotation());
      graph_.annotate(input.op().id(), Annotation{DeviceSpec::parse("/task:0"), kNoMesh, {}});
      const Value inputs[] = {variable, input};
      request_.targets.push_back(graph_.add(kAssign, inputs, {}, line)[0]);
      if (const auto found = values.find(op.name()); found != values.end()) request_.feeds[feed] = found->second;
    }
  }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const RunRequest& request() const { return request_; }

 private:
  Graph graph_;
  RunRequest request_;
};

void require_feeds(const RunRequest& request) {
  if (!request.feed_types.empty())
    throw Error(Code::usage, "the feed '{}' is only a type", request.feed_types.begin()->first)
        .hint("give its values in RunRequest::feeds");
}

}  // namespace

Feed parts(std::vector<Tensor> of_tasks) {
  Feed feed;
  feed.tensors_ = std::move(of_tasks);
  feed.by_parts_ = true;
  return feed;
}

struct Session::State {
  State(const Graph& g, const Cluster& cluster, SessionOptions options)
      : graph(&g), group(cluster, std::move(options)) {}
  /// With a graph `proved`, first proves that the plan computes the values of the graph for the request.
  State(Plan given, const Cluster& cluster, SessionOptions options, const Graph* proved, const RunRequest& request)
      : group(cluster, std::move(options)) {
    const OpSet* const ops = group.options().run.ops;
    const Topology planned_for = given.topology;
    plan.emplace(group, group.given(std::move(given)), ops != nullptr ? *ops : default_ops());
    if (proved != nullptr) plan->prove(*proved, request, planned_for);
  }

  /// Runs the request on `g`, which is the session's graph or one that restores its variables.
  std::vector<Tensor> run(const Graph& g, const RunRequest& request) {
    const std::vector<std::int32_t> arrive_at(request.fetches.size(),
                                              request.fetch_parts ? PlanPort::kEachTask : request.fetch_to);
    return group.tensors(arrive_at, request.fetch_to, [&](TaskSession& task) {
      task.compare_graphs(*graph);
      return task.run(g, request);
    });
  }

  const Graph* const graph = nullptr;  ///< null: the session was made from a plan
  TaskGroup group;
  std::optional<FixedPlan> plan;
};

Session::Session(const Graph& graph, const Cluster& cluster, SessionOptions options)
    : state_(std::make_unique<State>(graph, cluster, std::move(options))) {}

Session::Session(Plan plan, const Cluster& cluster, SessionOptions options) {
  const DefaultFloats floats;
  state_ = std::make_unique<State>(std::move(plan), cluster, std::move(options), nullptr, RunRequest());
}

Session::Session(Plan plan, const Graph& graph, const RunRequest& request, const Cluster& cluster,
                 SessionOptions options) {
  const DefaultFloats floats;
  state_ = std::make_unique<State>(std::move(plan), cluster, std::move(options), &graph, request);
}

Session::~Session() = default;

std::vector<Tensor> Session::run(const RunRequest& request) {
  require_feeds(request);
  if (state_->plan) return state_->plan->run(request);
  if (request.checkpoints != nullptr && &request.checkpoints->session() != this)
    throw Error(Code::usage, "RunRequest::checkpoints are of another session")
        .hint("make Checkpoints with the session that runs the request");
  std::vector<Tensor> fetched = state_->run(*state_->graph, request);
  if (request.checkpoints != nullptr) request.checkpoints->require_not_stopped();
  return fetched;
}

Tuned Session::tune(const RunRequest& request, const TuneOptions& options) {
  require_feeds(request);
  require_range("TuneOptions::steps", options.steps, std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  require_range("TuneOptions::rounds", options.rounds, 1, std::numeric_limits<int>::max());
  const Graph& of_session = graph("tune");
  return state_->group.of_first<Tuned>([&](TaskSession& task) {
    task.compare_graphs(of_session);
    return task.tune(of_session, request, options);
  });
}

std::map<std::string, Type, std::less<>> Session::variable_types() const {
  if (state_->plan) return state_->plan->variable_types();
  const Graph& graph = *state_->graph;
  std::map<std::string, Type, std::less<>> types;
  for (const OpId id : graph.variables()) types.emplace(graph.op(id).name(), graph.type(graph.op(id).output(0)));
  return types;
}

TensorMap Session::variables() {
  if (state_->plan) return state_->plan->variables();
  // A Value needs a mutable graph; fetching values of it does not change it.
  auto& graph = const_cast<Graph&>(*state_->graph);
  RunRequest request;
  for (OpId id : graph.variables()) request.fetches.push_back(graph.value(graph.op(id).output(0)));
  TensorMap result;
  if (request.fetches.empty()) return result;
  std::vector<Tensor> fetched = state_->run(graph, request);
  for (std::size_t i = 0; i < fetched.size(); ++i) result[request.fetches[i].name()] = std::move(fetched[i]);
  return result;
}

void Session::restore(const TensorMap& variables) {
  if (state_->plan) return state_->plan->restore(variables);
  const Graph& graph = *state_->graph;
  if (graph.variables().empty()) return;
  const bool is_main = state_->group.cluster().rank() == 0;
  std::string problem;
  if (is_main) {
    std::map<std::string, Type, std::less<>> types;
    for (const auto& [name, tensor] : variables)
      if (tensor.defined()) types.emplace(name, tensor.type());
    problem = fit_problem(graph, types, {}, Extra::unused);
  }
  state_->group.on_all([&](TaskSession& task) { task.member().agree_on_problem(problem, Code::file); });
  const RestoreGraph restore(graph, is_main ? variables : TensorMap());
  state_->run(restore.graph(), restore.request());
}

const Graph& Session::graph(const char* user) const {
  if (state_->graph == nullptr)
    throw Error(Code::usage, std::string(user) + ": this session runs a plan and has no graph")
        .hint("make the session from the graph");
  return *state_->graph;
}

TaskGroup& Session::group() const {
  return state_->group;
}

const Cluster& Session::cluster() const {
  return state_->group.cluster();
}

RunStats Session::stats() {
  return state_->group.of_first<RunStats>([](TaskSession& task) { return task.stats(); });
}

const PlanResult& Session::plan(const RunRequest& request) {
  return state_->plan ? state_->plan->plan(request) : state_->group.plan(*state_->graph, request);
}

Equality Session::compare(const RunRequest& request, const Plan& plan) {
  const Graph& g = graph("compare");
  return state_->group.compare(g, state_->group.signature(g, request, plan.topology), plan);
}

void Session::close() {
  state_->group.close();
}

}  // namespace ferry
