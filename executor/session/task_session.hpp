// TaskSession: one task's part of a session. A process has one for each of its tasks, each on its own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/session/agreement.hpp"
#include "executor/session/run_stats.hpp"
#include "executor/session/session_plans.hpp"
#include "executor/session/task_context.hpp"
#include "executor/session/tuner.hpp"
#include "executor/session/variable_use.hpp"
#include "executor/state/checkpoint_saver.hpp"

namespace ferry {

/// Agrees with the other tasks, plans, runs steps, and keeps the state between steps: variables, counters, traces.
class TaskSession {
 public:
  using OnStep = std::function<void(std::int64_t step, std::span<const Tensor> fetched)>;

  TaskSession(int task, Transport& transport, const JobState& cluster, SessionPlans::ProcessPlans& plans,
              const SessionOptions& options)
      : task_(task, transport, cluster, options), plans_(task_, plans), tuner_(task_, plans_) {}
  TaskSession(const TaskSession&) = delete;
  TaskSession& operator=(const TaskSession&) = delete;

  /// This task as a member of the job.
  [[nodiscard]] JobMember& member() { return task_.member; }
  [[nodiscard]] const JobMember& member() const { return task_.member; }
  /// Error(plan) on all tasks unless they have the same graph. Compares on the first call only.
  void compare_graphs(const Graph& graph);
  /// Agrees with the other tasks, plans, and runs the steps. Returns the last step's fetches, defined if they arrive at
  /// this task.
  std::vector<Tensor> run(const Graph& graph, const RunRequest& request);
  /// Error(plan) on all tasks unless they have the same plan. Compares on the first call only.
  void compare_plans(const SharedPlan& planned) { static_cast<void>(plans_.prepared_plan(planned)); }
  /// Runs the request's steps of an existing plan. The request has at least the feeds that this task gives.
  /// Precondition: variables that the plan reads have a value.
  std::vector<Tensor> run_plan(const SharedPlan& planned, const RunRequest& request, const PartRows& part_rows);
  [[nodiscard]] bool has_value(std::string_view variable) const { return task_.variables.has_value(variable); }
  void set_has_value(std::string_view variable) { task_.variables.set_has_value(variable); }
  /// Sets a variable: VariableStore::set.
  void set_variable(std::string_view name, DType dtype, std::shared_ptr<const VariableLayout> layout,
                    const Tensor& part) {
    task_.variables.set(name, dtype, std::move(layout), part);
  }
  /// The whole value of a variable, on task 0. All tasks call it.
  [[nodiscard]] Tensor variable(std::string_view name);
  /// Agrees with the other tasks on the request, and returns its plan.
  [[nodiscard]] SharedPlan plan(const Graph& graph, const RunRequest& request);
  /// Session::tune.
  Tuned tune(const Graph& graph, const RunRequest& request, const TuneOptions& options);
  [[nodiscard]] RunStats stats() { return stats_of_all(last_run_, task_.workers.threads(), task_.member); }
  /// Saves now; `graph` is the session's. All tasks call it.
  void save(const Graph& graph, CheckpointSaver& saver);
  /// Sets how many steps each request has made, by Agreed::request.
  void set_steps(std::map<std::string, std::int64_t> steps) { next_step_ = std::move(steps); }
  /// The trace of all tasks as JSON, on task 0; all tasks call it.
  [[nodiscard]] std::string trace();
  /// The record of the task's last instructions; null if nothing is recorded.
  [[nodiscard]] const FlightRecorder* recorder() const { return task_.recorder ? &*task_.recorder : nullptr; }
  /// Makes the present run end soon with Error(interrupted). May be called by any thread.
  void cancel() { task_.workers.cancel(); }

 private:
  /// Called after each step. Returns true to end the run.
  using AfterStep = std::function<bool(std::int64_t steps_done)>;

  /// A run's uses of its graph, found at the request's first run.
  struct Use {
    VariableUse variables;
    std::vector<Batches> uneven;  ///< uneven_batches()
  };

  Agreed agree_on(const Graph& graph, const RunRequest& request);
  [[nodiscard]] const Use& use_of(const Graph& graph, const Agreed& agreed);
  void require_given_parts(const Graph& graph, const Agreed& agreed);
  /// Makes the plans of the coming steps, so that errors of planning come before anything runs.
  void plan_ahead(const Graph& graph, const Agreed& agreed);
  void initialise(const Graph& graph, const Agreed& agreed, int depth);
  std::vector<Tensor> run_steps(const Graph& graph, const Agreed& agreed, const RunRequest& request);
  /// Runs the steps of a prepared plan from `step` to `end`, unless `after_step` ends the run. Adds 1 to `step` for
  /// each finished step. `first` is the first step of the run.
  std::vector<Tensor> execute(const std::shared_ptr<PreparedPlan>& prepared, std::int64_t first, std::int64_t& step,
                              std::int64_t end, const RunFeeds& feeds, const OnStep& on_step,
                              const AfterStep& after_step);
  void spare(const Plan& plan);
  [[nodiscard]] std::int64_t own_end(const Plan& plan);
  void check_variables();
  void compare_replicas(const Graph* graph, std::int64_t step);
  [[nodiscard]] CheckpointSaver::Boundary make_boundary(const Graph& graph, std::int64_t step);

  TaskContext task_;
  SessionPlans plans_;
  Tuner tuner_;
  std::map<std::string, std::int64_t> next_step_;  ///< by request
  std::map<std::string, Use> uses_;                ///< by request, SessionPlans::marked
  std::set<std::string> planned_ahead_;            ///< Agreed::key
  LastRun last_run_;
  bool compared_ = false;
};

}  // namespace ferry
