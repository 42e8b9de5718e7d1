// SessionPlans: the plans of a session. Each process makes a plan once; the tasks compare it, and each makes an
// executor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/cluster.hpp"
#include "executor/observe/work_timer.hpp"
#include "executor/run/task_executor.hpp"
#include "executor/session/agreement.hpp"
#include "executor/session/data_files.hpp"
#include "executor/session/task_context.hpp"
#include "executor/state/variable_layout.hpp"
#include "kernels/device.hpp"
#include "plan/equal/equal.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// See PlanningOptions::bucket_bytes.
using BucketBytes = std::optional<std::int64_t>;

/// A plan that the verifier has accepted.
struct VerifiedPlan {
  PlanResult result;
  std::uint64_t fingerprint = 0;  ///< of the plan, this build of ferry and the library of its kernels
  /// The layouts of the plan's variables, made at the first call. Thread-safe.
  [[nodiscard]] const VariableLayouts& variables() const {
    std::call_once(asked_, [this] { layouts_ = variable_layouts(result.plan); });
    return layouts_;
  }

 private:
  mutable std::once_flag asked_;
  mutable VariableLayouts layouts_;
};
using SharedPlan = std::shared_ptr<const VerifiedPlan>;

/// A plan that all tasks agree on, and its executor once it has run.
struct PreparedPlan {
  SharedPlan planned;
  std::optional<WorkTimer> timer;            ///< if the job is watched and this role has no queues
  std::unique_ptr<TaskExecutor> executor;    ///< made when it is first run
  std::uint64_t bound = 0;                   ///< what VariableStore::bind() returned when the executor was made
  std::uint64_t bytes = 0;                   ///< memory of the plan and a step on the task that needs the most
  std::uint64_t used = 0;                    ///< SessionPlans::uses_ at its last request
  std::vector<std::string> packed, written;  ///< packed_variables(), written_variables()
  std::uint64_t packed_writes = 0;           ///< VariableStore::writes() of `packed` before the last run
};

/// The plans of one task. Its functions are collective: all tasks call them.
class SessionPlans {
 public:
  /// The plans of a process, by request and bucket size. The tasks of the process share them. A plan is freed when no
  /// task has it any more. Thread-safe.
  class ProcessPlans {
   public:
    /// Both must outlive this.
    ProcessPlans(const Cluster& cluster, const SessionOptions& options);
    /// The plan with that bucket size. The first caller makes it while others wait. Errors as make_plan; after an error
    /// the next call tries again.
    [[nodiscard]] SharedPlan get(const Graph& graph, const Agreed& agreed, BucketBytes bucket_bytes);
    /// Verifies a plan that was made before, with the topology of this job in place of the plan's own. Error(plan), the
    /// same in all processes, if the plan does not fit the job or the verifier rejects it.
    [[nodiscard]] SharedPlan given(Plan plan) const;
    /// Whether the plan computes the graph. Feeds come from the tasks that the plan names, not from the signature's
    /// tasks.
    [[nodiscard]] Equality compare(const Graph& graph, Signature signature, const Plan& plan) const;
    /// The kernels for the devices besides the host.
    [[nodiscard]] const KernelTable* device_kernels() const { return kernels_.devices(); }

   private:
    [[nodiscard]] PlanResult make(const Graph& graph, const Signature& signature, BucketBytes bucket_bytes) const;
    [[nodiscard]] SharedPlan verified(PlanResult result, std::uint64_t fingerprint) const;
    /// Throws Error(plan) if the plan does not compute the graph. Warns if the rules of the proof do not suffice.
    void prove(const Graph& graph, const Signature& signature, const Plan& plan) const;

    const Cluster& cluster_;
    const SessionOptions& options_;
    const KernelTable& cpu_;
    const KernelsOfDevices kernels_;
    std::mutex mutex_;
    std::map<std::pair<std::string, BucketBytes>, std::weak_ptr<const VerifiedPlan>> plans_;
  };

  SessionPlans(TaskContext& task, ProcessPlans& made)
      : task_(task),
        process_plans_(made),
        data_files_(task.options.run.data_folder),
        bucket_bytes_(task.options.plan.bucket_bytes) {}

  /// The plan of the request, made at the first call. Errors as make_plan; Error(plan) if tasks have made different
  /// plans.
  [[nodiscard]] std::shared_ptr<PreparedPlan> prepared_plan(const Graph& graph, const Agreed& agreed);
  /// The only plan of a session that runs a given plan.
  [[nodiscard]] std::shared_ptr<PreparedPlan> prepared_plan(const SharedPlan& given);
  struct Candidates {
    std::vector<SharedPlan> plans;  ///< at least one
    int refused = 0;                ///< bucket sizes with which there is no plan
  };
  /// The request's plans with several bucket sizes, the session's own first; of plans that send the same messages only
  /// the first. Sizes with refused plans (for example over the budget) are left out; Error(plan) if all are.
  [[nodiscard]] Candidates candidates(const Graph& graph, const Agreed& agreed);
  /// Sets the bucket size of all plans from now on, and drops the plans with another size.
  void set_bucket_bytes(BucketBytes bucket_bytes);
  /// Before a run of the plan: lays out its variables, makes its executor unless its executor was made for the present
  /// addresses of the variables, and lets it pack variables again if others have written them.
  void bind(PreparedPlan& prepared);
  /// Lays out the plan's variables, and makes an executor for steps that leave nothing behind: neither effects nor a
  /// trace or record.
  [[nodiscard]] std::unique_ptr<TaskExecutor> measured_executor(const VerifiedPlan& planned);

  /// The key under which a plan is kept. The prefix "restore " separates the graphs without entries, which restore
  /// variables, from the graphs of users.
  [[nodiscard]] static std::string marked(const Graph& graph, const std::string& key);

 private:
  /// The plan that was prepared before; null: there is none.
  std::shared_ptr<PreparedPlan> known(const std::string& key);
  std::shared_ptr<PreparedPlan> prepared(const std::string& key, const SharedPlan& planned);
  /// Drops the plans that were requested longest ago until the rest fits into ExecutionOptions::plan_cache_bytes or is
  /// a few plans. All tasks request the same plans, so they drop the same plans.
  void keep_within_budget();
  void compare(const VerifiedPlan& planned);
  [[nodiscard]] std::uint64_t bind_variables(const VerifiedPlan& planned);
  /// The caller sets the fields of `options` in which the executors of a plan differ; this function sets the rest.
  [[nodiscard]] std::unique_ptr<TaskExecutor> executor(const VerifiedPlan& planned, ExecutorOptions options);

  TaskContext& task_;
  ProcessPlans& process_plans_;
  DataFiles data_files_;
  BucketBytes bucket_bytes_;
  std::map<std::pair<std::string, BucketBytes>, std::shared_ptr<PreparedPlan>> prepared_;
  std::uint64_t kept_bytes_ = 0;  // of prepared_
  std::uint64_t uses_ = 0;        // how many plans were asked for
};

}  // namespace ferry
