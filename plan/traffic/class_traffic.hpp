// The messages and bytes that tasks move, and the work of their devices: traffic_of() of plan.hpp, and the sums of it
// for a class.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "plan/device_work.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Sums of traffic_of() over the tasks of a class. Each collective is counted once, for all of its members together, in
/// time proportional to the schedule's steps plus its members, not to their product. Not thread-safe; the plan, which
/// has passed the verifier, must outlive it.
class ClassTraffic {
 public:
  explicit ClassTraffic(const Plan& plan);

  /// What one run of a region of the class moves, without the regions nested in it.
  [[nodiscard]] Traffic of(std::uint32_t plan_class, std::uint32_t region);

 private:
  /// What each class moves in one run of the collective.
  const std::vector<Traffic>& of_collective(std::uint32_t number);

  const Plan& plan_;
  std::vector<std::int64_t> tasks_;                      // of each class
  std::map<std::uint32_t, std::vector<Traffic>> known_;  // by collective
};

/// The counters of one copy by such a queue.
[[nodiscard]] DeviceWork work_of_copy(PlanQueue::Role queue, std::uint64_t bytes);
/// What one run of a region of the task's class gives each of its devices, without the regions nested in it: by index
/// into PlanClass::devices; nothing to the host. Of the replays all that there are once each stretch is captured.
[[nodiscard]] std::vector<DeviceWork> work_of(const Plan& plan, int task, std::uint32_t region);

/// What one task sends to another.
struct LinkTraffic {
  std::int32_t to = 0;
  std::int64_t messages = 0, bytes = 0;
  bool operator==(const LinkTraffic&) const = default;
};

/// What one run of a region of the task's class sends, without the regions nested in it, by receiver, ascending: the
/// sent_messages and sent_bytes of traffic_of() by link. The plan has passed the verifier.
[[nodiscard]] std::vector<LinkTraffic> sends_of(const Plan& plan, int task, std::uint32_t region);
/// The same of one collective; none for a task that is not its member.
[[nodiscard]] std::vector<LinkTraffic> sends_of_collective(const Plan& plan, const Collective& collective, int task);

/// What each member of a collective sends and receives. The fields for bytes have elements.
[[nodiscard]] std::vector<Traffic> traffic_of_members(const Schedule& schedule, std::span<const std::int64_t> parts);

}  // namespace ferry
#pragma GCC visibility pop
