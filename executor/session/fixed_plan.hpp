// FixedPlan: runs an existing plan without its graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "executor/session/fed_parts.hpp"
#include "executor/session/session_plans.hpp"
#include "executor/session/session_types.hpp"
#include "graph/types/batches.hpp"
#include "graph/types/tensor.hpp"

namespace ferry {

class OpSet;
class TaskGroup;
class TaskSession;

/// The plan of a session that has no graph, with the checks of feeds, of variables and of batch sizes that otherwise
/// use the graph. Used from the session's thread.
class FixedPlan {
 public:
  /// Checks the plan (TaskGroup::given). `ops` has the definitions of the plan's ops, as far as they are known. `group`
  /// must outlive this object.
  FixedPlan(TaskGroup& group, SharedPlan planned, const OpSet& ops);

  /// Throws as require_equal() unless the plan computes the values of the graph for the request. The topology is the
  /// one that the plan was made for. The plan decides the types of feeds that the request leaves out, and whether
  /// batches are whole or the last batches of epochs.
  void prove(const Graph& graph, RunRequest request, const Topology& planned_for) const;
  /// The plan. Error(usage) if the request has fetches, targets, fetch_to, planned_step or checkpoints.
  [[nodiscard]] const PlanResult& plan(const RunRequest& request) const;
  /// As Session::run, restore and variables, for a session that was made from a plan.
  std::vector<Tensor> run(const RunRequest& request);
  void restore(const TensorMap& values);
  [[nodiscard]] TensorMap variables();
  [[nodiscard]] const std::map<std::string, Type, std::less<>>& variable_types() const { return variables_; }

 private:
  /// The batches of the plan (either the whole batches or the last batches of epochs), and their numbers of rows.
  struct PlannedBatches {
    std::string op;
    Batches batches;
    std::int64_t rows = 0;

    /// The first step from `step` on with a batch of another size.
    [[nodiscard]] std::int64_t first_other(std::int64_t step) const {
      return batches.at(step).count != rows ? step : batches.next_change(step);
    }
  };

  [[nodiscard]] static std::vector<PlannedBatches> sizes_of_batches(const Plan& plan, const OpSet& ops);
  /// The fault of the variables or of this task's feeds; empty: none.
  [[nodiscard]] std::string problem(const TaskSession& task, const FeedMap& feeds) const;
  /// Error(usage), the same on all tasks, if the variables or the feeds of a task have a fault, or if the number of
  /// steps or a feed differs between tasks. The latter includes feeds that the plan takes from another task. Returns
  /// the rows of the feeds by parts.
  PartRows agree_on(TaskSession& task, const RunRequest& request) const;
  /// Error(usage) if one of the next `steps` steps has a batch of another size than the plan.
  void require_batches(std::int64_t steps) const;
  [[nodiscard]] std::string restore_problem(const TensorMap& values) const;

  TaskGroup& group_;
  const SharedPlan planned_;
  const Plan& plan_;
  const std::set<std::string, std::less<>> read_;  ///< names of the variables that some instruction reads
  const std::map<std::string, Type, std::less<>> variables_;
  const std::vector<PlannedBatches> batches_;
  std::int64_t next_step_ = 0;
};

}  // namespace ferry
