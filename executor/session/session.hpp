// Session: runs a graph on a cluster.
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
struct PlanResult;

/// Runs a graph, step by step; every process of the job makes the same calls. Used from one thread: a call during
/// another one is refused with Error(usage). A plan is made once for each (fetches, targets, feed types) and kept.
///
///     Session session(g, cluster);
///     Tensor c_now = session.run({c})[0];
class Session {
 public:
  /// The graph must outlive the session and not change while it lives.
  Session(const Graph& graph, const Cluster& cluster, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one step and returns the fetched values, which arrive at task 0: in other processes the tensors are
  /// undefined (Tensor::defined), and reading them is Error(usage). Error(usage) for bad feeds or fetches (the session
  /// stays usable). Any error while running ends the job on all tasks: this session cannot be used again; the first
  /// call of a new session, which all tasks make, begins a new job of the cluster.
  std::vector<Tensor> run(const std::vector<Value>& fetches, const TensorMap& feeds = {});
  /// Runs the request's steps and returns the fetches of the last one, defined in the process of RunRequest::fetch_to.
  std::vector<Tensor> run(const RunRequest& request);

  /// Measures `request` with buckets of several sizes, and uses the best from now on (SessionOptions::bucket_bytes).
  /// The session keeps its size unless another is 2 % faster. Task 0 measures and decides for all. The measured steps
  /// leave nothing behind: variables, the number of the next step, stats and traces are as before; Print prints
  /// nothing, and RunRequest::on_step is not called. Memory: a copy of the variables that a step writes. Errors as
  /// run(). All tasks call it.
  Tuned tune(const RunRequest& request, const TuneOptions& options = {});

  /// Variables by name: whole values, on task 0 (undefined elsewhere). All tasks call it.
  [[nodiscard]] TensorMap variables();
  /// Sets variables from task 0's tensors, broadcast and cut as their layouts say; Error(file) lists missing, extra and
  /// differing names. All tasks call it.
  void restore(const TensorMap& variables);

  /// Statistics of the last run. All tasks call it.
  [[nodiscard]] RunStats stats();
  /// The plan for `request` (placement/planner.hpp), for printing and saving; with the reasons if
  /// SessionOptions::reasons. The reference is valid until tune() or the end of the session. All tasks call it.
  [[nodiscard]] const PlanResult& plan(const RunRequest& request);
  /// Writes the trace, if SessionOptions::trace_file names one, for which all tasks must call it, and frees everything.
  /// run() afterwards is Error(usage).
  void close();

 private:
  friend class Checkpoints;
  [[nodiscard]] const Graph& graph() const;
  [[nodiscard]] TaskGroup& group() const;
  [[nodiscard]] std::uint64_t seed() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
#pragma GCC visibility pop
