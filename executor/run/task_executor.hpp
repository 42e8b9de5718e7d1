// TaskExecutor: walks the plan of one task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "executor/run/workers.hpp"
#include "graph/types/tensor.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

class Devices;
class FileSystem;
class KernelTable;
class Trace;

struct ExecutorOptions {
  std::uint64_t seed = 0;
  std::string data_folder = {};
  Duration deadline = std::chrono::seconds(60);  ///< no progress, or in loops, for this long: Error(stalled)
  FileSystem* files = nullptr;                   ///< for data ops; null: the machine's
  const KernelTable* kernels = nullptr;          ///< null: the CPU's
  const Devices* devices = nullptr;              ///< besides the host; null: none
  const KernelTable* device_kernels = nullptr;   ///< theirs
  Trace* trace = nullptr;                        ///< null: nothing is traced
  std::uint64_t plan_id = 0;                     ///< the plan's in traces
  bool check_numerics = false;                   ///< Error(numeric) after the first op that makes NaN or Inf
  bool effects = true;  ///< false: of kernels with `effect` no task is the one to do it (KernelSetup::first)
};

/// One task's part of a plan, with resolved addresses. A step allocates nothing of ferry's own and looks nothing up.
/// Used by walker 0 of `workers`, which owns the transport.
class TaskExecutor {
 public:
  /// `variable` gives the address of a variable's bytes by its name. The plan must have been verified, and must outlive
  /// the executor. Error(resource) when the arenas do not fit into memory.
  TaskExecutor(const Plan& plan, int task, Transport& transport, Workers& workers,
               const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options);
  ~TaskExecutor();
  TaskExecutor(const TaskExecutor&) = delete;
  TaskExecutor& operator=(const TaskExecutor&) = delete;

  /// Runs the setup (before the first step) and one step. `feeds`: of the plan's feeds, those that this task gives.
  /// `fetched`: one for each of the plan's fetches, set where they arrive here; give it again to the next step, which
  /// overwrites the tensors that nobody else has kept. Errors are those of kernels, with op, task and line; those of
  /// the transport; Error(stalled), the verdict. After an error the executor is not used again.
  void step(std::int64_t step, std::span<const Tensor> feeds, std::span<Tensor> fetched);

  /// Of the last step, without the setup.
  [[nodiscard]] const Traffic& measured() const;
  /// How often each region ran in the last step.
  [[nodiscard]] std::span<const std::int64_t> region_runs() const;
  /// Bytes of the arenas.
  [[nodiscard]] std::uint64_t arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ferry
