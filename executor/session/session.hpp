// Session: runs a graph, or a plan that was made before, on a cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "executor/job/cluster.hpp"
#include "executor/session/session_types.hpp"
#include "graph/graph.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class Checkpoints;
class TaskGroup;
struct Equality;
struct Plan;
struct PlanResult;

/// Runs a graph, step by step; every process of the job makes the same calls. Used from one thread: a call during
/// another one is refused with Error(usage). Where a launcher has started the job, that is the thread that called
/// Cluster::connect(); calls on another thread are refused with Error(usage). A plan is made for each (fetches,
/// targets, feed types) and kept (ExecutionOptions::plan_cache_bytes).
///
///     Session session(g, cluster);
///     Tensor c_now = session.run({c})[0];
///
/// A session that is made from a plan, from a file for example, needs no graph. It runs the plan's own fetches and
/// targets, and takes feeds by the plan's names. A plan does not hold the values of its variables: restore() gives
/// them. read_plan() is in <ferry/placement/plan_file.hpp>, local_files() in <ferry/base/files.hpp>.
///
///     Session session(read_plan(local_files(), "model.plan"), cluster);
///     session.restore(model);
///     Tensor scores = session.run({.feeds = {{"x", images}}})[0];
class Session {
 public:
  /// The graph must outlive the session and not change while it lives.
  Session(const Graph& graph, const Cluster& cluster, SessionOptions options = {});
  /// Runs a plan, the same in all processes. Of the options it uses SessionOptions::run; check_numerics checks no ops
  /// that the plan has fused. Error(plan) if the plan is for another number of tasks, for more threads than tasks have
  /// here, or for tasks that share memory and here do not. Also if the verifier refuses it, for example because it
  /// needs more memory than there is. Requests of the session have no fetches, targets, fetch_to, planned_step or
  /// checkpoints, and the session has no tune() and no Checkpoints: else Error(usage).
  Session(Plan plan, const Cluster& cluster, SessionOptions options = {});
  /// Proves that the plan computes what the graph says for `request`, then runs it as Session(plan, cluster). Errors of
  /// the proof: require_equal(). Feeds that the request leaves out have the plan's types. The plan also decides which
  /// step's batches it has, so planned_step is not used. The graph may end before the session.
  ///
  ///     Session session(read_plan(local_files(), "model.plan"), g, {.fetches = {scores}}, cluster);
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
  /// A template only so that run({.targets = …}) is the other function: g++ takes the braces for a vector, too.
  template <class = void>
  std::vector<Tensor> run(const std::vector<Value>& fetches, const FeedMap& feeds = {}) {
    return run(RunRequest{.fetches = fetches, .feeds = feeds});
  }
  /// Runs the request's steps and returns the fetches of the last one, defined in the process of RunRequest::fetch_to.
  ///
  /// A plan's fetches come in the order of Plan::fetches, defined where they arrive. Feeds that the plan takes from
  /// tasks of other processes are ignored. Error(usage), the same on all tasks, for feeds that are missing or of
  /// another type, and for variables that are read and have no value: the session stays usable. Error(plan) when the
  /// tasks have different plans.
  std::vector<Tensor> run(const RunRequest& request);

  /// Measures `request` with buckets of several sizes, and uses the best from now on (PlanningOptions::bucket_bytes).
  /// The session keeps its size unless another is 2 % faster. Task 0 measures and decides for all. The measured steps
  /// leave nothing behind: variables, the number of the next step, stats and traces are as before; Print prints
  /// nothing, and RunRequest::on_step is not called. Memory: a copy of the variables that a step writes. Errors as
  /// run(). All tasks call it.
  Tuned tune(const RunRequest& request, const TuneOptions& options = {});

  /// Variables by name: whole values, on task 0 (undefined elsewhere). Of a plan, those that have a value. All tasks
  /// call it.
  [[nodiscard]] TensorMap variables();
  /// Sets variables from task 0's tensors, broadcast and cut as their layouts say; Error(file) lists missing, extra and
  /// differing names. Extra names are no error for a plan, which may need only a part of a model. All tasks call it.
  void restore(const TensorMap& variables);

  [[nodiscard]] const Cluster& cluster() const;

  /// Statistics of the last run. All tasks call it.
  [[nodiscard]] RunStats stats();
  /// The plan for `request` (placement/planner.hpp), for printing and saving; with the reasons if
  /// PlanningOptions::reasons. For a session made from a plan: that plan. The reference is valid until the next
  /// call of plan() or the end of the session. All tasks call it.
  [[nodiscard]] const PlanResult& plan(const RunRequest& request);
  /// Whether a plan that has passed verify(), made by this session or by another one, computes what the graph says for
  /// `request` (docs/internals/equality.md). Of the request it uses fetches, targets, fetch_to, fetch_parts,
  /// planned_step, and the types of feeds: the plan says which tasks give them. <ferry/placement/equal.hpp> has the
  /// result. Error(usage) if the session was made from a plan.
  [[nodiscard]] Equality compare(const RunRequest& request, const Plan& plan);
  /// Writes the trace, if ExecutionOptions::trace_file names one, for which all tasks must call it, and frees
  /// everything. run() afterwards is Error(usage).
  void close();

 private:
  friend class Checkpoints;
  /// Error(usage) if the session was made from a plan; `user` is what needs the graph.
  [[nodiscard]] const Graph& graph(const char* user) const;
  [[nodiscard]] TaskGroup& group() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
#pragma GCC visibility pop
