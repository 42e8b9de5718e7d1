// The messages and bytes of tasks, and the work of their devices: traffic_of() of plan.hpp, and its sums over a class.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "plan/device_work.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Sums of traffic_of() over the tasks of a class. It counts each collective once, for all of its members together.
/// This takes time proportional to the schedule's steps plus its members, not to their product. Not thread-safe. The
/// plan must have passed the verifier and outlive this object.
class ClassTraffic {
 public:
  explicit ClassTraffic(const Plan& plan);

  /// The traffic of one run of a region of the class, without the regions nested in it.
  [[nodiscard]] Traffic of(std::uint32_t plan_class, RegionId region);

 private:
  /// The traffic of each class in one run of the collective.
  const std::vector<Traffic>& of_collective(std::uint32_t number);

  const Plan& plan_;
  std::vector<std::int64_t> tasks_;                      // number of tasks of each class
  std::map<std::uint32_t, std::vector<Traffic>> known_;  // by collective
};

/// The counters of one copy on a queue with this role.
[[nodiscard]] DeviceWork work_of_copy(PlanQueue::Role queue, std::uint64_t bytes);
/// The work of each device in one run of a region of the task's class, without the regions nested in it, by index into
/// PlanClass::devices. The host's entry is 0. Replays are counted as if each stretch was captured already.
[[nodiscard]] std::vector<DeviceWork> work_of(const Plan& plan, int task, RegionId region);

/// The messages from one task to another.
struct LinkTraffic {
  std::int32_t to = 0;
  std::int64_t messages = 0, bytes = 0;
  bool operator==(const LinkTraffic&) const = default;
};

/// The messages that one run of a region of the task's class sends, without the regions nested in it, by receiver,
/// ascending. These are the sent_messages and sent_bytes of traffic_of() for each link. The plan must have passed the
/// verifier.
[[nodiscard]] std::vector<LinkTraffic> sends_of(const Plan& plan, int task, RegionId region);
/// The same for one collective; empty for a task that is not its member.
[[nodiscard]] std::vector<LinkTraffic> sends_of_collective(const Plan& plan, const Collective& collective, int task);

/// The traffic of each member of a collective. The fields for bytes count elements.
[[nodiscard]] std::vector<Traffic> traffic_of_members(const Schedule& schedule, std::span<const std::int64_t> parts);

}  // namespace ferry
#pragma GCC visibility pop
