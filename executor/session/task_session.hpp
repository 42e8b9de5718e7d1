// TaskSession: a session as one task runs it. A process has one for each of its tasks, each on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/job/job_member.hpp"
#include "executor/observe/trace.hpp"
#include "executor/observe/turn_record.hpp"
#include "executor/run/workers.hpp"
#include "executor/session/agreement.hpp"
#include "executor/session/executor_factory.hpp"
#include "executor/session/plan_cache.hpp"
#include "executor/session/prepared_plans.hpp"
#include "executor/session/run_stats.hpp"
#include "executor/session/tuner.hpp"
#include "executor/session/variable_use.hpp"
#include "executor/state/checkpoint_saver.hpp"
#include "executor/state/variables.hpp"

namespace ferry {

/// Whether the options ask for a trace.
[[nodiscard]] inline bool traces(const SessionOptions& options) {
  return !options.trace_file.empty() || options.on_trace;
}

/// Agrees with the other tasks, plans, runs steps, and keeps the state between steps: variables, counters, traces.
class TaskSession {
 public:
  using OnStep = std::function<void(std::int64_t step, std::span<const Tensor> fetched)>;

  TaskSession(int task, Transport& transport, const Cluster::State& cluster, PlanCache& plans,
              const SessionOptions& options);
  ~TaskSession();
  TaskSession(const TaskSession&) = delete;
  TaskSession& operator=(const TaskSession&) = delete;

  /// This task as a member of the job.
  [[nodiscard]] JobMember& member() { return member_; }
  [[nodiscard]] const JobMember& member() const { return member_; }
  [[nodiscard]] const SessionOptions& options() const { return options_; }
  /// Error(plan) on all tasks unless they have the same graph. Compares on the first call only.
  void compare_graphs(const Graph& graph);
  /// Agrees with the other tasks, plans, and runs the steps. Returns the last step's fetches, defined where they
  /// arrive.
  std::vector<Tensor> run(const Graph& graph, const RunRequest& request);
  /// Runs steps of a plan that was made before. `feeds` has, by name, at least those that this task gives.
  /// Precondition: variables that the plan reads have a value.
  std::vector<Tensor> run_plan(const PlanCache::Shared& planned, const TensorMap& feeds, std::int64_t steps,
                               const OnStep& on_step);
  [[nodiscard]] bool has_value(std::string_view variable) const { return variables_.has_value(variable); }
  void set_has_value(std::string_view variable) { variables_.set_has_value(variable); }
  /// Sets a variable: VariableStore::set.
  void set_variable(std::string_view name, DType dtype, std::shared_ptr<const VariableLayout> layout,
                    const Tensor& part) {
    variables_.set(name, dtype, std::move(layout), part);
  }
  /// The whole value of a variable, on task 0. All tasks call it.
  [[nodiscard]] Tensor variable(std::string_view name);
  /// Agrees with the other tasks on the request, and returns its plan.
  const PlanResult& plan(const Graph& graph, const RunRequest& request);
  /// Session::tune.
  Tuned tune(const Graph& graph, const RunRequest& request, const TuneOptions& options);
  [[nodiscard]] RunStats stats() { return stats_of_all(last_run_, workers_.threads(), member_); }
  /// Saves now; `graph` is the session's. All tasks call it.
  void save(const Graph& graph, CheckpointSaver& saver);
  /// Sets how many steps each request has made, by Agreed::request.
  void set_steps(std::map<std::string, std::int64_t> steps) { next_step_ = std::move(steps); }
  /// The trace of all tasks as JSON, on task 0; all tasks call it.
  [[nodiscard]] std::string trace();
  /// What the task did last; null where nothing is recorded.
  [[nodiscard]] const FlightRecorder* recorder() const { return recorder_ ? &*recorder_ : nullptr; }
  /// Makes the present run end soon with Error(interrupted). May be called by any thread.
  void cancel() { workers_.cancel(); }

 private:
  /// Called after each step. True: make no more steps.
  using AfterStep = std::function<bool(std::int64_t steps_done)>;

  /// What a run uses of its graph, found when it is first asked for.
  struct Use {
    VariableUse variables;
    std::vector<Batches> uneven;  ///< uneven_batches()
  };

  Agreed agree_on(const Graph& graph, const RunRequest& request);
  [[nodiscard]] const Use& use_of(const Graph& graph, const Agreed& agreed);
  /// Makes the plans of the coming steps, so that refusals come before anything runs.
  void plan_ahead(const Graph& graph, const Agreed& agreed);
  void initialise(const Graph& graph, const Agreed& agreed, int depth);
  std::vector<Tensor> run_steps(const Graph& graph, const Agreed& agreed, const RunRequest& request);
  /// Runs the steps of a prepared plan from `step` to `end`, unless told to stop; `step` is raised by each that is
  /// done. `first` is the first step of the run.
  std::vector<Tensor> execute(const std::shared_ptr<Prepared>& prepared, std::int64_t first, std::int64_t& step,
                              std::int64_t end, const TensorMap& feeds, const OnStep& on_step,
                              const AfterStep& after_step);
  void spare(const Plan& plan);
  [[nodiscard]] std::int64_t own_end(const Plan& plan);
  void bind(Prepared& prepared);
  void check_variables();
  void compare_replicas(const Graph* graph, std::int64_t step);
  [[nodiscard]] CheckpointSaver::Place place(const Graph& graph, std::int64_t step);

  JobMember member_;
  const SessionOptions& options_;
  Workers workers_;
  VariableStore variables_;
  GpuGroups groups_;
  std::optional<Trace> trace_;
  std::optional<FlightRecorder> recorder_;
  std::optional<TurnRecord> turns_;
  PreparedPlans plans_;
  ExecutorFactory executors_;
  Tuner tuner_;
  std::map<std::string, std::int64_t> next_step_;  ///< by request
  std::map<std::string, Use> uses_;                ///< by PreparedPlans::key_of
  std::set<std::string> planned_ahead_;            ///< Agreed::key
  LastRun last_run_;
  bool compared_ = false;
};

}  // namespace ferry
