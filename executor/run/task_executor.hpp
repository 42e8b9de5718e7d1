// TaskExecutor: runs the plan of one task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/system/time_limit.hpp"
#include "comm/transport.hpp"
#include "executor/execution_options.hpp"
#include "executor/run/workers.hpp"
#include "executor/watch/position.hpp"
#include "graph/types/tensor.hpp"
#include "plan/device_work.hpp"
#include "plan/plan.hpp"

namespace ferry {

class Devices;
class Watch;
class FileSystem;
class FlightRecorder;
class GpuGroups;
class KernelTable;
class Trace;
class TurnRecord;
class WorkTimer;

struct ExecutorOptions {
  ExecutionOptions run = {};  ///< the executor uses seed, data_folder, kernels, check_numerics and sync_gpu
  /// Error(stalled) after this time without progress, or in one loop.
  TimeLimit limit{&system_clock(), std::chrono::seconds(60)};
  FileSystem* files = nullptr;                  ///< for data ops; null: the machine's
  const Devices* devices = nullptr;             ///< devices besides the host; null: none
  const KernelTable* device_kernels = nullptr;  ///< the kernels of `devices`
  GpuGroups* groups = nullptr;                  ///< the plan's groups, joined; null: it has none
  Position* position = nullptr;                 ///< where the task reports its position; null: nowhere
  const Watch* watch = nullptr;                 ///< its verdict ends a step; null: there is none
  Trace* trace = nullptr;                       ///< null: nothing is traced
  FlightRecorder* recorder = nullptr;           ///< null: nothing is recorded
  WorkTimer* timer = nullptr;                   ///< of the plan; null: no step is timed
  TurnRecord* turns = nullptr;                  ///< record of a server's turns; null: none is written or replayed
  std::uint64_t plan_id = 0;                    ///< identifies the plan in traces
  bool effects = true;  ///< false: kernels with `effect` do not perform it (KernelSetup::first is false on all tasks)
};

/// One task's part of a plan, with resolved addresses: in a step the executor looks nothing up, and allocates only
/// fetched tensors that cannot be reused. Used by walker 0 of `workers`, which owns the transport.
class TaskExecutor final : public RunningPlan {
 public:
  /// `variable` gives the address of a variable's bytes by its name. The plan must have been verified, and must outlive
  /// the executor. Error(resource) when the arenas do not fit into memory; Error(plan) when a kernel is missing or does
  /// not fit the plan.
  TaskExecutor(const Plan& plan, int task, Transport& transport, Workers& workers,
               const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options);
  ~TaskExecutor() override;
  TaskExecutor(const TaskExecutor&) = delete;
  TaskExecutor& operator=(const TaskExecutor&) = delete;

  /// Runs the setup (before the first step) and one step. `feeds` has a tensor for each of the plan's feeds, defined if
  /// this task gives the feed. `fetched` has a tensor for each of the plan's fetches, which is set if the fetch arrives
  /// at this task. Pass it again to the next step, which overwrites the tensors that nobody else holds. Throws errors
  /// of kernels, with op, task and line; errors of the transport; Error(stalled). After an error the executor must not
  /// be used again. `following`: the number of steps that certainly follow this one. Workers may begin some of these
  /// steps before their server has ended this step.
  void step(std::int64_t step, std::span<const Tensor> feeds, std::span<Tensor> fetched, std::int64_t following = 0);

  /// Makes the next step pack variables again (variable_packing()), because one of them has got another value.
  void pack_variables_again();

  [[nodiscard]] std::uint64_t progress_tag() const override;
  [[nodiscard]] std::optional<std::string> computes(bool first_waits) const override;

  /// The messages and copies of the last step, without the setup.
  [[nodiscard]] const Traffic& measured() const;
  /// How often each region ran in the last step.
  [[nodiscard]] std::span<const std::int64_t> region_runs() const;
  /// The work submitted to the devices in the last step, without the setup, by index into PlanClass::devices; empty if
  /// the task uses no queue.
  [[nodiscard]] std::span<const DeviceWork> device_work() const;
  /// Bytes of the arenas and the variables, by index into PlanClass::devices.
  [[nodiscard]] std::span<const std::uint64_t> arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
