// Session: runs a graph, or a plan that was made before, on a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/cluster.hpp"
#include "executor/session/session_types.hpp"
#include "graph/graph.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class Checkpoints;
class TaskGroup;
struct Equality;
struct Plan;
struct PlanResult;

/// Runs a graph, step by step; every process of the job makes the same calls. Only one thread may use it: a call during
/// another call is an Error(usage). If a launcher has started the job, this must be the thread that called
/// Cluster::connect(); calls on another thread are an Error(usage). ferry makes a plan for each (fetches, targets, feed
/// types) and keeps it (ExecutionOptions::plan_cache_bytes).
///
///     const Value c = g.constant({1, 2}) + g.constant({3, 4});
///     Session session(g, cluster);
///     session.run({c})[0];  // [4 6]
///
/// A session that is made from a plan, from a file for example, needs no graph. It runs the plan's own fetches and
/// targets, and takes feeds by the plan's names. A plan does not hold the values of its variables: restore() gives
/// them. read_plan() is in <ferry/placement/plan_file.hpp>, local_files() in <ferry/base/files.hpp>.
///
///     Session session(read_plan(local_files(), "model.plan"), cluster);
///     session.restore(model);
///     Tensor scores = session.run({.feeds = {{"images", pixels}}})[0];
class Session {
 public:
  /// The graph must outlive the session and not change while it lives.
  Session(const Graph& graph, const Cluster& cluster, SessionOptions options = {});
  /// Runs a plan, the same in all processes. Of the options it uses SessionOptions::run; check_numerics checks no ops
  /// that the plan has fused. Error(plan) if the plan is for another number of tasks, for more threads than the tasks
  /// have, or for shared memory between tasks that do not share memory. Also if the verifier rejects the plan, for
  /// example because it needs more memory than there is. Error(usage) for requests with fetches, targets, fetch_to,
  /// planned_step or checkpoints, for tune(), and for Checkpoints of the session.
  Session(Plan plan, const Cluster& cluster, SessionOptions options = {});

  /// Proves that the plan computes the values of the graph for `request`, then runs it as Session(plan, cluster).
  /// Errors of the proof: require_equal(). Feeds that the request leaves out have the plan's types. planned_step is not
  /// used, because the plan is for the batch of one step already. The graph need not outlive the constructor's call.
  ///
  ///     Session session(read_plan(local_files(), "model.plan"), g, {.fetches = {logits}}, cluster);
  Session(Plan plan, const Graph& graph, const RunRequest& request, const Cluster& cluster,
          SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one step and returns the fetched values, which arrive at task 0: in other processes the tensors are
  /// undefined (Tensor::defined), and reading them is Error(usage). Error(usage) for bad feeds or fetches (the session
  /// stays usable). Any error while running ends the job on all tasks: this session cannot be used again; the first
  /// call of a new session, which all tasks make, begins a new job of the cluster.
  ///
  /// This is a template only so that run({.targets = …}) calls the other overload: g++ also accepts the braces for a
  /// vector.
  ///
  ///     Value doubled = g.input("v", {2}) * 2;
  ///     Session session(g, cluster);
  ///     session.run({doubled}, {{"v", Tensor::of<float>({2}, {3, 4})}})[0];  // [6 8]
  template <class = void>
  std::vector<Tensor> run(const std::vector<Value>& fetches, const FeedMap& feeds = {}) {
    return run(RunRequest{.fetches = fetches, .feeds = feeds});
  }

  /// Runs the request's steps and returns the fetches of the last one, defined in the process of RunRequest::fetch_to.
  ///
  /// A session made from a plan returns the fetches in the order of Plan::fetches, defined in the processes where they
  /// arrive. It ignores feeds that the plan takes from tasks of other processes. Error(usage), the same on all tasks,
  /// for feeds that are missing or of another type, and for variables that are read and have no value: the session
  /// stays usable. Error(plan) when the tasks have different plans.
  ///
  ///     Values updates = sgd(loss, weights, 0.1);
  ///     Session session(g, cluster);
  ///     session.run({.fetches = {loss}, .targets = updates, .steps = 10})[0];  // float32[]
  std::vector<Tensor> run(const RunRequest& request);

  /// Measures `request` with buckets of several sizes, and uses the best from now on (PlanningOptions::bucket_bytes).
  /// The session keeps its size unless another is 2 % faster. Task 0 measures and decides for all. The measured steps
  /// leave nothing behind: variables, the number of the next step, stats and traces are as before; Print prints
  /// nothing, and RunRequest::on_step is not called. Memory: a copy of the variables that a step writes. Errors as
  /// run(). All tasks call it.
  ///
  ///     Tuned tuned = session.tune({.targets = updates});
  ///     std::cout << tuned.sizes[tuned.chosen].seconds << " s for each step\n";
  Tuned tune(const RunRequest& request, const TuneOptions& options = {});

  /// The types of all variables, by name. A task may call it alone.
  ///
  ///     Value count = g.variable("count", g.constant(0));
  ///     Session session(g, cluster);
  ///     session.variable_types().at("count").str();  // "float32[]"
  [[nodiscard]] std::map<std::string, Type, std::less<>> variable_types() const;

  /// The whole values of the variables, by name, on task 0 (undefined elsewhere). A session made from a plan returns
  /// only the variables that have a value. All tasks call it.
  ///
  ///     Value count = g.variable("count", g.constant(5));
  ///     Session session(g, cluster);
  ///     session.run({count});
  ///     session.variables().at("count");  // 5
  [[nodiscard]] TensorMap variables();

  /// Sets variables from task 0's tensors, broadcast and cut as their layouts say. Error(file) lists variables that are
  /// missing or of another type. Tensors with other names are not used: a graph that only predicts needs no state of an
  /// optimizer. All tasks call it.
  ///
  ///     Value count = g.variable("count", g.constant(0));
  ///     Session session(g, cluster);
  ///     session.restore({{"count", Tensor::scalar(5.0f)}});  // needs all variables of the graph
  void restore(const TensorMap& variables);

  /// The cluster on which the session runs.
  [[nodiscard]] const Cluster& cluster() const;

  /// Statistics of the last run. Error(usage) if nothing has been run. All tasks call it.
  ///
  ///     session.run({.targets = updates, .steps = 10});
  ///     std::cout << session.stats().median_seconds << " s for each step\n";
  [[nodiscard]] RunStats stats();

  /// The plan for `request` (placement/planner.hpp), for printing and saving; with the reasons if
  /// PlanningOptions::reasons. For a session made from a plan: that plan. The reference is valid until the next
  /// call of plan() or the end of the session. All tasks call it.
  ///
  ///     std::cout << text_of(session.plan({.fetches = {loss}}).plan);
  [[nodiscard]] const PlanResult& plan(const RunRequest& request);

  /// Whether a plan that has passed verify(), made by this session or by another one, computes what the graph says for
  /// `request` (docs/internals/equality.md). Of the request it uses fetches, targets, fetch_to, fetch_parts,
  /// planned_step, and the types of feeds: the plan says which tasks give them. <ferry/placement/equal.hpp> has the
  /// result. Error(usage) if the session was made from a plan.
  ///
  ///     Equality equality = session.compare({.fetches = {loss}}, read_plan(local_files(), "loss.plan"));
  [[nodiscard]] Equality compare(const RunRequest& request, const Plan& plan);

  /// Writes the trace if ExecutionOptions::trace_file names a file (then all tasks must call close()), and frees
  /// everything. run() afterwards is Error(usage).
  ///
  ///     session.close();
  void close();

 private:
  friend class Checkpoints;
  /// Error(usage) if the session was made from a plan; `user` names the function that needs the graph.
  [[nodiscard]] const Graph& graph(const char* user) const;
  [[nodiscard]] TaskGroup& group() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
#pragma GCC visibility pop
