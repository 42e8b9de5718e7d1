// Collects the times and traffic of a run from all tasks (RunStats).
#pragma once

#include <memory>

#include "comm/transport.hpp"
#include "executor/job/job_member.hpp"
#include "executor/observe/step_times.hpp"
#include "executor/session/session_plans.hpp"
#include "executor/session/session_types.hpp"
#include "executor/watch/link_meter.hpp"

namespace ferry {

/// A task's record of its last run.
struct LastRun {
  std::shared_ptr<const PreparedPlan> longest_run_plan;  ///< null: nothing has been run yet
  WireCount wire;                                        ///< what the transport sent in the last step of that plan
  StepTimes times;
  LinkMeter links;

  std::int64_t consecutive_steps = 0;  ///< number of consecutive steps of that plan

  void clear() {
    longest_run_plan = nullptr;
    times.clear();
    consecutive_steps = 0;
  }
  /// Records `steps` finished steps of a plan. The report describes the plan with the most consecutive steps.
  void record_steps(const std::shared_ptr<const PreparedPlan>& plan, const WireCount& sent, std::int64_t steps) {
    if (steps < consecutive_steps) return;
    longest_run_plan = plan;
    wire = sent;
    consecutive_steps = steps;
  }
};

/// Statistics of the last run on all tasks. All tasks call it. Error(usage) when nothing has been run yet.
[[nodiscard]] RunStats stats_of_all(const LastRun& run, int threads, JobMember& member);

}  // namespace ferry
