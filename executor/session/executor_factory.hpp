// ExecutorFactory: makes the executors of a task from the session's options and the task's state.
#pragma once

#include <memory>
#include <vector>

#include "executor/job/job_member.hpp"
#include "executor/observe/flight_recorder.hpp"
#include "executor/observe/trace.hpp"
#include "executor/observe/turn_record.hpp"
#include "executor/run/gpu_groups.hpp"
#include "executor/run/task_executor.hpp"
#include "executor/run/workers.hpp"
#include "executor/session/plan_cache.hpp"
#include "executor/state/variables.hpp"

namespace ferry {

class ExecutorFactory {
 public:
  /// `trace`, `recorder`, `turns`: null where nothing is traced or recorded.
  ExecutorFactory(const JobMember& member, const SessionOptions& options, const KernelsOfDevices& kernels,
                  Workers& workers, VariableStore& variables, GpuGroups& groups, Trace* trace, FlightRecorder* recorder,
                  TurnRecord* turns)
      : member_(member),
        options_(options),
        kernels_(kernels),
        workers_(workers),
        variables_(variables),
        groups_(groups),
        trace_(trace),
        recorder_(recorder),
        turns_(turns) {}

  /// Makes an executor of the plan. The plan's variables must be bound. `timer`: null where no step is timed.
  [[nodiscard]] std::unique_ptr<TaskExecutor> make(const PlanCache::Planned& planned, WorkTimer* timer) const;
  /// The same, for steps that leave nothing behind: neither effects nor a trace or record.
  [[nodiscard]] std::unique_ptr<TaskExecutor> make_measured(const PlanCache::Planned& planned) const;

 private:
  /// `options`: what differs between the two above.
  [[nodiscard]] std::unique_ptr<TaskExecutor> make(const PlanCache::Planned& planned, ExecutorOptions options) const;

  const JobMember& member_;
  const SessionOptions& options_;
  const KernelsOfDevices& kernels_;
  Workers& workers_;
  VariableStore& variables_;
  GpuGroups& groups_;
  Trace* const trace_;
  FlightRecorder* const recorder_;
  TurnRecord* const turns_;
};

/// A tensor for each of the plan's feeds, undefined for those that another task gives.
[[nodiscard]] std::vector<Tensor> given_feeds(const Plan& plan, const TensorMap& feeds, int task);

}  // namespace ferry
