// Collects the times and traffic of a run from all tasks (RunStats).
#pragma once

#include <memory>

#include "comm/transport.hpp"
#include "executor/session/job_member.hpp"
#include "executor/session/prepared_plans.hpp"
#include "executor/session/session.hpp"
#include "executor/session/step_times.hpp"
#include "executor/watch/link_meter.hpp"

namespace ferry {

/// A task's record of its last run.
struct LastRun {
  std::shared_ptr<const Prepared> what;  ///< null: nothing has been run yet
  WireCount wire;                        ///< what the transport sent in its last step
  StepTimes times;
  LinkMeter links;
};

/// Statistics of the last run on all tasks. All tasks call it. Error(usage) when nothing has been run yet.
[[nodiscard]] RunStats stats_of_all(const LastRun& run, int threads, JobMember& member);

}  // namespace ferry
