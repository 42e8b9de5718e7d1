// GpuGroups: the groups of GPUs that carry out the collectives of a task's plans (Via::library).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "kernels/device.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// A fold of the members' values on a task's GPU.
class GpuFold {
 public:
  /// Folds `count` elements of each input. Error(plan) if the device has no kernel for the fold.
  GpuFold(const KernelTable& kernels, Reduce reduce, DType dtype, std::int64_t count,
          std::span<std::byte* const> inputs, std::byte* output);
  GpuFold(const GpuFold&) = delete;
  GpuFold& operator=(const GpuFold&) = delete;
  [[nodiscard]] DeviceLaunch launch(void* queue, const void* tag);

 private:
  std::vector<std::int64_t> sizes_, begin_{0};
  std::vector<Array> arrays_;  ///< the inputs, then the output
  BoundKernel kernel_;
  ThisThread parallel_;
  const std::int64_t step_ = 0;
  KernelRun run_;
};

/// A task's part in a collective of a plan, as submitted to the queue of its GPU.
struct GpuCollective {
  /// A call of the library, or a fold. Stages are submitted one after another.
  struct Stage {
    DeviceCollective call;
    std::vector<DeviceMessage> messages;  ///< of an exchange
    std::unique_ptr<GpuFold> fold;        ///< null: a call of the library
  };
  std::vector<Stage> stages;
  void* group = nullptr;   ///< the task's membership of the library's group
  std::int64_t bytes = 0;  ///< bytes that the task passes to the library
};

/// One for each task of a session. It keeps its groups until it is destroyed. The devices must outlive it.
class GpuGroups {
 public:
  /// Joins the groups of a plan that have not been joined yet, in the plan's order: all tasks of the job call it with
  /// the same plans, in the same order. `devices`: null if the task has none. Error(stalled) at the deadline;
  /// FailedWork; errors of the transport.
  void join(const Plan& plan, int task, const Devices* devices, Transport& transport, const Deadline& deadline);

  /// The memory of an instruction's operands; null if there is no such operand.
  struct OperandMemory {
    std::byte *input = nullptr, *output = nullptr, *slots = nullptr;
  };
  /// Makes the work that an instruction submits to the GPU's queue; the instruction starts a collective on the task's
  /// GPU. `kernels`: the GPU's kernels. The plan must outlive the result.
  [[nodiscard]] std::unique_ptr<GpuCollective> collective(const Plan& plan, int task, const Instruction& instruction,
                                                          const OperandMemory& places,
                                                          const KernelTable& kernels) const;

  /// Aborts the collectives in flight, because the job has failed.
  void abandon();

 private:
  struct Group {
    std::vector<std::int32_t> tasks;
    std::uint32_t gpu = 0;
    auto operator<=>(const Group&) const = default;
  };

  [[nodiscard]] std::vector<Group> add_new_groups(const Plan& plan);

  std::set<Group> known_;  ///< groups of all tasks
  std::map<Group, Devices::Owned> joined_;
  const Devices* devices_ = nullptr;
};

}  // namespace ferry
