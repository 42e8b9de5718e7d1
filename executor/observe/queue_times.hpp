// QueueTimes: the times at which devices did the work of their queues, for a trace.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/system/clock.hpp"
#include "executor/observe/trace.hpp"
#include "kernels/device.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Puts events around each piece of work of a queue, and adds the work to the trace when it is done. Each device has
/// its own clock. When a setup or step begins, an event that the host waits for matches the device's clock with the
/// host's. The match is narrowed by two facts: no work begins before the host gave it to the queue, and none ends after
/// the host saw its end. Used by walker 0 alone.
class QueueTimes {
 public:
  /// `queues` are the role's queues. They, the devices and the trace must outlive this object.
  QueueTimes(const PlanClass& role, const Devices& devices, std::span<const Devices::Owned> queues, Trace& trace);

  using Await = std::function<void(void* event)>;  ///< returns when the event has happened

  /// Call it when a setup or step begins, while all queues are idle.
  void begin(const Await& await);
  /// Call these before and after an instruction's work is given to its queue.
  void before(const Instruction& instruction);
  void after();
  /// The number of instructions that were given to queues and are not yet in the trace.
  [[nodiscard]] std::size_t given() const { return given_.size(); }
  /// Adds these instructions, except the first `count`, to the trace. They must be done.
  void add_from(std::size_t count, const Plan& plan, std::uint64_t plan_id, const Await& await);

 private:
  struct SubmittedWork {
    const Instruction* instruction = nullptr;
    std::uint32_t queue = 0;  ///< index into PlanClass::queues
    TimePoint given;          ///< by the host's clock
    void *begins = nullptr, *ends = nullptr;
  };
  /// A device's clock.
  struct DeviceClock {
    Devices::Owned zero;         ///< the device's times count from this event
    TimePoint earliest, latest;  ///< bounds for the time of `zero`, by the host's clock

    [[nodiscard]] TimePoint of_zero() const { return earliest + (latest - earliest) / 2; }
    void narrow(TimePoint not_before, TimePoint not_after);
  };
  [[nodiscard]] void* event(std::size_t number);

  const PlanClass& role_;
  const Devices& devices_;
  const std::span<const Devices::Owned> queues_;
  Trace& trace_;
  std::map<std::uint32_t, DeviceClock> clocks_;  // by index into PlanClass::devices
  std::vector<SubmittedWork> given_;
  std::vector<Devices::Owned> events_;  // begins with the events of given_, two for each element
};

}  // namespace ferry
