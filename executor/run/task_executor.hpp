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

class FileSystem;
class KernelTable;
class Trace;

struct ExecutorOptions {
  std::uint64_t seed = 0;
  std::string data_folder = {};
  Duration deadline = std::chrono::seconds(60);  ///< Error(stalled) after this long without progress, or in one loop
  FileSystem* files = nullptr;                   ///< for data ops; null: the machine's
  const KernelTable* kernels = nullptr;          ///< null: the CPU's
  Trace* trace = nullptr;                        ///< null: nothing is traced
  std::uint64_t plan_id = 0;                     ///< names the plan in traces
  bool check_numerics = false;                   ///< Error(numeric) after the first op that makes NaN or Inf
  bool effects = true;  ///< false: kernels with an effect (Kernel::effect) do not have it on any task
};

/// One task's part of a plan, with resolved addresses: in a step nothing is looked up by name, and ferry itself
/// allocates nothing but fetched tensors. Used by walker 0 of `workers`, which owns the transport.
class TaskExecutor {
 public:
  /// `variable` gives the address of a variable's bytes by its name. The plan must have been verified, and must outlive
  /// the executor. Error(resource) when the arenas do not fit into memory.
  TaskExecutor(const Plan& plan, int task, Transport& transport, Workers& workers,
               const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options);
  ~TaskExecutor();
  TaskExecutor(const TaskExecutor&) = delete;
  TaskExecutor& operator=(const TaskExecutor&) = delete;

  /// Runs the setup (before the first step) and one step. `feeds`: one for each of the plan's feeds; only those that
  /// this task gives are read. `fetched`: one for each of the plan's fetches; those that arrive here are set. Give it
  /// again to the next step, which overwrites the tensors that have no other owner. Throws what kernels throw, with op,
  /// task and line; what the transport throws; Error(stalled); Error(interrupted). After an error the executor must not
  /// be used again.
  void step(std::int64_t step, std::span<const Tensor> feeds, std::span<Tensor> fetched);

  /// What the last step has moved, without the setup.
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
