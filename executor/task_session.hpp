// TaskSession: a session as one task runs it. A process has one for each of its tasks, each on a thread of its own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/agreement.hpp"
#include "executor/cluster_state.hpp"
#include "executor/session.hpp"
#include "executor/task_executor.hpp"
#include "executor/trace.hpp"
#include "executor/variables.hpp"
#include "executor/workers.hpp"
#include "placement/planner.hpp"

namespace ferry {

/// The plans of a session, shared by the tasks of this process: made once, verified. Thread-safe.
class PlanCache {
 public:
  struct Planned {
    PlanResult result;
    std::uint64_t fingerprint = 0;  ///< of the plan, the ops' schemas and the kernels
  };

  PlanCache(const Topology& topology, const SessionOptions& options) : topology_(topology), options_(options) {}
  /// Errors as make_plan; an error is not kept.
  [[nodiscard]] std::shared_ptr<const Planned> get(const std::string& key, const Graph& graph,
                                                   const Signature& signature);

 private:
  const Topology& topology_;
  const SessionOptions& options_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Planned>> plans_;
};

class TaskSession {
 public:
  TaskSession(int task, Transport& transport, const Cluster::State& cluster, PlanCache& plans,
              const SessionOptions& options);

  /// Error(plan) on all tasks unless they have the same graph. Looks at it the first time only.
  void compare_graphs(const Graph& graph);
  /// Agrees with the other tasks, plans, and runs the steps. The fetches, defined where they arrive.
  std::vector<Tensor> run(const Graph& graph, const RunRequest& request);
  /// Agrees and plans.
  const PlanResult& plan(const Graph& graph, const RunRequest& request);
  [[nodiscard]] RunStats stats();
  /// Error(code) on all tasks, with the first `problem` that is not empty.
  void agree_on_problem(const std::string& problem, Code code);
  /// The trace of all tasks as JSON, on task 0; all tasks call it.
  [[nodiscard]] std::string trace();
  /// True once something has failed while the job was running.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  struct Prepared {
    std::shared_ptr<const PlanCache::Planned> planned;
    std::unique_ptr<TaskExecutor> executor;
    std::uint64_t bound = 0;  ///< the state of the variables' storage that the executor knows
  };

  [[nodiscard]] Deadline deadline() const { return {system_clock(), cluster_.options.deadline}; }
  Agreed agree_on(const Graph& graph, const RunRequest& request);
  void initialise(const Graph& graph, const Signature& signature, int depth);
  Prepared& prepare(const Graph& graph, const Agreed& agreed);
  void compare_fingerprints(const PlanCache::Planned& planned);
  std::vector<Tensor> run_steps(const Graph& graph, const Agreed& agreed, const RunRequest& request);
  template <class F>
  auto guarded(F f);
  template <class F>
  void together(F f);

  const int task_;
  Transport& transport_;
  const Cluster::State& cluster_;
  PlanCache& plans_;
  const SessionOptions& options_;
  Workers workers_;
  VariableStore variables_;
  std::optional<Trace> trace_;
  std::map<std::string, Prepared> prepared_;
  std::map<std::string, std::int64_t> next_step_;  ///< by request
  Prepared* last_ = nullptr;
  std::vector<double> step_seconds_;
  bool compared_ = false;
  bool failed_ = false;
};

}  // namespace ferry
