// PlanSession: runs a plan that was made before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/job/cluster.hpp"
#include "executor/session/session.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The variables of a plan by name, with the types of their whole values. Thread-safe.
[[nodiscard]] std::map<std::string, Type, std::less<>> variables_of(const Plan& plan);

/// Runs a plan, from a file for example, without its graph. Every process of the job makes the same calls, with the
/// same plan. Used from one thread. A plan does not hold the values of its variables: restore() gives them.
///
///     PlanSession session(decode_plan(local_files().read("model.plan").span(), "model.plan"), cluster);
///     session.restore(model);
///     Tensor scores = session.run({{"x", images}})[0];
class PlanSession {
 public:
  using OnStep = std::function<void(std::int64_t step, std::span<const Tensor> fetched)>;

  /// Error(plan) if the plan is for another number of tasks, for more threads than tasks have here, or for tasks that
  /// share memory and here do not. Also if the verifier refuses it, for example because it needs more memory than there
  /// is. Of the options, only seed, data_folder, kernels, ops, trace_file, on_trace, flight_recorder, record_turns,
  /// replay_turns, sync_gpu, check_replicas and check_numerics are used; the last checks no ops that the plan has
  /// fused.
  PlanSession(Plan plan, const Cluster& cluster, SessionOptions options = {});
  ~PlanSession();
  PlanSession(const PlanSession&) = delete;
  PlanSession& operator=(const PlanSession&) = delete;

  [[nodiscard]] const Plan& plan() const;

  /// Runs `steps` steps and returns the fetches of the last, defined where they arrive. `feeds` has at least those that
  /// the plan takes from tasks of this process; others are ignored. `on_step` as in RunRequest. Error(usage), the same
  /// on all tasks, for feeds that are missing or of another type, and for variables that are read and have no value:
  /// the session stays usable. Error(plan) when the tasks have different plans.
  std::vector<Tensor> run(const TensorMap& feeds = {}, std::int64_t steps = 1, const OnStep& on_step = {});

  /// Sets the plan's variables from task 0's tensors; Error(file) lists those that are missing or differ. Other tensors
  /// are ignored, since a plan may need only a part of a model. All tasks call it.
  void restore(const TensorMap& variables);
  /// The whole values of the plan's variables that have one, on task 0 (undefined elsewhere). All tasks call it.
  [[nodiscard]] TensorMap variables();
  /// Statistics of the last run. All tasks call it.
  [[nodiscard]] RunStats stats();
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
#pragma GCC visibility pop
