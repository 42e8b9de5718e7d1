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

/// A fold of what members have given, on a task's GPU.
class GpuFold {
 public:
  /// Of `count` elements at each input. Error(plan) where the device has no kernel for it.
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

/// A task's part in a collective of a plan, as its GPU's queue is given it.
struct GpuCollective {
  /// Given one after another: calls of the library, and folds.
  struct Stage {
    DeviceCollective call;
    std::vector<DeviceMessage> messages;  ///< of an exchange
    std::unique_ptr<GpuFold> fold;        ///< if it is one
  };
  std::vector<Stage> stages;
  void* group = nullptr;   ///< the task's membership
  std::int64_t bytes = 0;  ///< that the task gives to the library
};

/// One for each task of a session, which keeps its groups until it ends. The devices must outlive it.
class GpuGroups {
 public:
  /// Joins the groups of a plan that have not been joined yet, in the plan's order: all tasks of the job call it with
  /// the same plans, in the same order. `devices`: null where the task has none. Error(stalled) at the deadline;
  /// FailedWork; errors of the transport.
  void join(const Plan& plan, int task, const Devices* devices, Transport& transport, const Deadline& deadline);

  /// The memory of an instruction's operands; null where it has none.
  struct Places {
    std::byte *input = nullptr, *output = nullptr, *slots = nullptr;
  };
  /// What the instruction, which starts a collective on the task's GPU, gives the GPU's queue; `kernels`: the GPU's.
  /// The plan must outlive it.
  [[nodiscard]] std::unique_ptr<GpuCollective> collective(const Plan& plan, int task, const Instruction& instruction,
                                                          const Places& places, const KernelTable& kernels) const;

  /// Aborts the collectives in flight, because the job has failed.
  void abandon();

 private:
  struct Group {
    std::vector<std::int32_t> tasks;
    std::uint32_t gpu = 0;
    auto operator<=>(const Group&) const = default;
  };

  [[nodiscard]] std::vector<Group> unknown(const Plan& plan);

  std::set<Group> known_;  ///< of all tasks
  std::map<Group, Devices::Owned> joined_;
  const Devices* devices_ = nullptr;
};

}  // namespace ferry
