// Tuner: finds the best bucket size by measuring steps.
//
// It measures extra steps without lasting effects, not the first steps of the run. Between hosts, the bucket size
// determines the order in which sums are folded. So a run with other bucket sizes in its first steps would have bits
// that no single plan gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/session/agreement.hpp"
#include "executor/session/session_plans.hpp"
#include "executor/session/task_context.hpp"

namespace ferry {

/// The tuner of one task. All tasks call it.
class Tuner {
 public:
  Tuner(TaskContext& task, SessionPlans& plans) : task_(task), plans_(plans) {}

  /// Measures the plans, which differ in bucket size, and chooses one. Measured steps are numbered from `step`; steps
  /// with a smaller batch are left out.
  [[nodiscard]] Tuned tune(const std::vector<SharedPlan>& plans, const Agreed& agreed, std::int64_t step,
                           const RunFeeds& feeds, const TuneOptions& options);

 private:
  /// Sets in `sizes` the seconds of a step with each plan, as task 0 measures them.
  void measure_all(const std::vector<SharedPlan>& plans, const Agreed& agreed, std::int64_t step, const RunFeeds& feeds,
                   const TuneOptions& options, std::span<Tuned::Size> sizes);
  /// The seconds of `steps` steps by `clock`, until all tasks have finished the last step. One more step runs before,
  /// without being measured. 0 on tasks other than task 0.
  [[nodiscard]] double measure(const VerifiedPlan& planned, const Agreed& agreed, std::int64_t step, std::int64_t steps,
                               const RunFeeds& feeds, Clock& clock);

  TaskContext& task_;
  SessionPlans& plans_;
  std::unique_ptr<TaskExecutor> measured_;  ///< kept if measuring fails: messages to its buffers may be in flight
};

/// The index of the size with the fastest step; 0 unless another is 2 % faster. Precondition: there is a size.
[[nodiscard]] std::size_t best_size(std::span<const Tuned::Size> sizes);

}  // namespace ferry
