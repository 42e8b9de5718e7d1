// GpuGroups: the groups of GPUs that carry out the collectives of a task's plans (Via::library).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "kernels/device.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// A task's part in a collective of a plan, as the GPUs' library takes it.
struct GpuCollective {
  DeviceCollective what;
  std::vector<DeviceMessage> messages;  ///< of an exchange
  void* group = nullptr;                ///< the task's membership
  std::int64_t bytes = 0;               ///< that the task gives
};

/// One for each task of a session, which keeps its groups until it ends. The devices must outlive it.
class GpuGroups {
 public:
  /// Joins the groups of a plan that have not been joined yet, in the plan's order: all tasks of the job call it with
  /// the same plans, in the same order. `devices`: null where the task has none. Error(stalled) at the deadline;
  /// FailedWork; errors of the transport.
  void join(const Plan& plan, int task, const Devices* devices, Transport& transport, const Deadline& deadline);

  /// What the instruction, which starts a collective on the task's GPU with that number, gives the GPU's queue. The
  /// plan must outlive it.
  [[nodiscard]] std::unique_ptr<GpuCollective> collective(const Plan& plan, int task, const Instruction& instruction,
                                                          std::byte* input, std::byte* output) const;

  /// Gives up what is under way, since the job has failed.
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
