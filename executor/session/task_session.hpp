// TaskSession: a session as one task runs it. A process has one for each of its tasks, each on a thread of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "executor/job/agreement.hpp"
#include "executor/job/cluster_state.hpp"
#include "executor/observe/trace.hpp"
#include "executor/run/task_executor.hpp"
#include "executor/run/workers.hpp"
#include "executor/session/session.hpp"
#include "executor/session/step_times.hpp"
#include "executor/state/checkpoint_saver.hpp"
#include "executor/state/variables.hpp"
#include "placement/planner.hpp"

namespace ferry {

/// SessionOptions::bucket_bytes.
using BucketBytes = std::optional<std::int64_t>;

/// The plans of a session, shared by the tasks of this process: made once, verified. Thread-safe.
class PlanCache {
 public:
  struct Planned {
    PlanResult result;
    std::uint64_t fingerprint = 0;  ///< of the plan, the ops' schemas and the kernels
    /// Of its variables; made when they are first asked for. Thread-safe.
    [[nodiscard]] const VariableLayouts& variables() const {
      std::call_once(asked_, [this] { layouts_ = variable_layouts(result.plan); });
      return layouts_;
    }

   private:
    mutable std::once_flag asked_;
    mutable VariableLayouts layouts_;
  };

  PlanCache(const Cluster& cluster, const SessionOptions& options) : cluster_(cluster), options_(options) {}
  /// A plan that has passed the verifier, else Error(plan); `of_plan` is its fingerprint.
  [[nodiscard]] static std::shared_ptr<const Planned> verified(PlanResult result, std::uint64_t of_plan,
                                                               const SessionOptions& options);
  /// With buckets of that size. Errors as make_plan; an error is not kept.
  [[nodiscard]] std::shared_ptr<const Planned> get(const std::string& key, const Graph& graph,
                                                   const Signature& signature, BucketBytes bucket_bytes);
  /// Forgets the plans of other sizes.
  void keep(BucketBytes bucket_bytes);

 private:
  const Cluster& cluster_;
  const SessionOptions& options_;
  std::mutex mutex_;
  std::map<std::pair<std::string, BucketBytes>, std::shared_ptr<const Planned>> plans_;
};

class TaskSession {
 public:
  using OnStep = std::function<void(std::int64_t step, std::span<const Tensor> fetched)>;

  TaskSession(int task, Transport& transport, const Cluster::State& cluster, PlanCache& plans,
              const SessionOptions& options);

  /// Error(plan) on all tasks unless they have the same graph. Looks at it the first time only.
  void compare_graphs(const Graph& graph);
  /// Agrees with the other tasks, plans, and runs the steps. The fetches, defined where they arrive.
  std::vector<Tensor> run(const Graph& graph, const RunRequest& request);
  /// Runs steps of a plan that was made before. `feeds`: by name, those that this task gives. Variables that the plan
  /// reads have a value.
  std::vector<Tensor> run_plan(const std::shared_ptr<const PlanCache::Planned>& planned, const TensorMap& feeds,
                               std::int64_t steps, const OnStep& on_step);
  [[nodiscard]] int task() const { return task_; }
  [[nodiscard]] bool has_value(std::string_view variable) const { return variables_.has_value(variable); }
  void set_has_value(std::string_view variable) { variables_.set_has_value(variable); }
  /// Sets a variable from task 0's whole value; other tasks give none. All tasks call it.
  void set_variable(std::string_view name, const Type& type, const Tensor& value);
  /// The whole value, on task 0. All tasks call it.
  [[nodiscard]] Tensor variable(std::string_view name);
  /// Of the plan in PlanCache.
  [[nodiscard]] static std::string key_of(const Graph& graph, const Agreed& agreed);
  /// Agrees and plans.
  const PlanResult& plan(const Graph& graph, const RunRequest& request);
  /// Session::tune.
  Tuned tune(const Graph& graph, const RunRequest& request, const TuneOptions& options);
  [[nodiscard]] RunStats stats();
  /// Everybody's text, in the order of tasks. All tasks call it.
  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) {
    return transport_.exchange(mine, deadline());
  }
  /// Saves now; `graph` is the session's. All tasks call it.
  void save(const Graph& graph, CheckpointSaver& saver);
  /// Steps of requests, by their texts.
  void set_steps(std::map<std::string, std::int64_t> steps) { next_step_ = std::move(steps); }
  /// With the code that came with it: Error on all tasks, with the first `problem` that is not empty.
  void agree_on_problem(const std::string& problem, Code code);
  /// The trace of all tasks as JSON, on task 0; all tasks call it.
  [[nodiscard]] std::string trace();
  /// Ends a run of another thread with Error(interrupted), soon. Any thread.
  void cancel() { workers_.cancel(); }
  /// True once something has failed while the job was running.
  [[nodiscard]] bool failed() const { return failed_; }
  /// This task had no memory to go on, and is not used again: tells the others, who may be waiting for it. Error to be
  /// thrown.
  [[nodiscard]] Error out_of_memory();

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
  Prepared& prepare(Prepared& prepared, std::shared_ptr<const PlanCache::Planned> planned);
  void compare_fingerprints(const PlanCache::Planned& planned);
  std::vector<Tensor> run_steps(const Graph& graph, const Agreed& agreed, const RunRequest& request);
  /// What is done after each step. True: no more.
  using AfterStep = std::function<bool(std::int64_t steps_done)>;
  /// Steps of a prepared plan, counted on from `step`.
  std::vector<Tensor> execute(Prepared& prepared, std::int64_t steps, std::int64_t& step, const TensorMap& feeds,
                              const OnStep& on_step, const AfterStep& after_step);
  void check_variables() const;
  [[nodiscard]] CheckpointSaver::Place place(const Graph& graph, std::int64_t step);
  /// `measured`: of steps that leave nothing behind.
  [[nodiscard]] std::unique_ptr<TaskExecutor> executor_for(const PlanCache::Planned& planned, bool measured);
  /// Those of the plan's feeds that this task gives.
  [[nodiscard]] std::vector<Tensor> given_feeds(const Plan& plan, const TensorMap& feeds) const;

  using Candidates = std::vector<std::shared_ptr<const PlanCache::Planned>>;
  /// The plans with buckets of several sizes; what the session has comes first.
  [[nodiscard]] Candidates candidates(const Graph& graph, const Agreed& agreed);
  /// Seconds from the first of `steps` steps until all tasks are done with the last, on `clock`. They leave nothing
  /// behind.
  [[nodiscard]] double measure(const PlanCache::Planned& planned, const Agreed& agreed, const TensorMap& feeds,
                               std::int64_t steps, Clock& clock);
  /// Seconds of a step with each plan, as task 0 measures them.
  void measure_all(const Candidates& plans, const Agreed& agreed, const TensorMap& feeds, const TuneOptions& options,
                   std::span<Tuned::Size> sizes);
  /// Task 0's number, on all tasks.
  [[nodiscard]] double of_first(double number);
  /// f(). What fails in it ends the job: the others are told, and this session is not used again.
  template <class F>
  auto guarded(F f) {
    try {
      return f();
    } catch (...) {
      failed_ = true;
      const Error error = as_error(std::current_exception(), Code::program, "a callback");
      transport_.abort({task_, error.code(), error.text()});
      throw;
    }
  }
  /// f(). What fails in it fails on all tasks alike, so that none need be told.
  template <class F>
  void together(F f) {
    try {
      f();
    } catch (const Error&) {
      failed_ = true;
      throw;
    }
  }

  const int task_;
  Transport& transport_;
  const Cluster::State& cluster_;
  PlanCache& plans_;
  const SessionOptions& options_;
  Workers workers_;
  VariableStore variables_;
  std::optional<Trace> trace_;
  std::map<std::pair<std::string, BucketBytes>, Prepared> prepared_;
  std::unique_ptr<TaskExecutor> measured_;         ///< in measure(); stays when that fails, as those in prepared_ do
  std::map<std::string, std::int64_t> next_step_;  ///< by request
  Prepared* last_ = nullptr;
  BucketBytes bucket_bytes_;  ///< of all plans from now on
  WireCount wire_;            ///< of its last step
  StepTimes step_times_;      ///< of the last run
  bool compared_ = false;
  bool failed_ = false;
};

}  // namespace ferry
