// QueueTimes: when devices did the work of their queues, for a trace.
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

/// Puts events around each piece of work that a queue is given, and adds it to the trace when it is done. Devices
/// measure by clocks of their own. Each is matched with the host's when a setup or step begins, by an event that the
/// host waits for; and nothing has begun before it was given, or ended after the host saw that. Used by walker 0 alone.
class QueueTimes {
 public:
  /// `queues` are the role's queues. They, the devices and the trace must outlive this object.
  QueueTimes(const PlanClass& role, const Devices& devices, std::span<const Devices::Owned> queues, Trace& trace);

  using Await = std::function<void(void* event)>;  ///< returns when it has happened

  /// To be called when a setup or step begins, while all queues are idle.
  void begin(const Await& await);
  /// To be called before and after an instruction's work is given to its queue.
  void before(const Instruction& instruction);
  void after();
  /// How much has been given and not been added to the trace.
  [[nodiscard]] std::size_t given() const { return given_.size(); }
  /// Adds to the trace all but the first `count` of that, which is to be done.
  void add_from(std::size_t count, const Plan& plan, std::uint64_t plan_id, const Await& await);

 private:
  struct Given {
    const Instruction* instruction = nullptr;
    std::uint32_t queue = 0;  ///< index into PlanClass::queues
    TimePoint given;          ///< by the host's clock
    void *begins = nullptr, *ends = nullptr;
  };
  /// A device's clock.
  struct DeviceClock {
    Devices::Owned zero;         ///< the event from which on the device's times are told
    TimePoint earliest, latest;  ///< between which it happened, by the host's clock

    [[nodiscard]] TimePoint of_zero() const { return earliest + (latest - earliest) / 2; }
    void narrow(TimePoint not_before, TimePoint not_after);
  };
  [[nodiscard]] void* event(std::size_t number);

  const PlanClass& role_;
  const Devices& devices_;
  const std::span<const Devices::Owned> queues_;
  Trace& trace_;
  std::map<std::uint32_t, DeviceClock> clocks_;  // by index into PlanClass::devices
  std::vector<Given> given_;
  std::vector<Devices::Owned> events_;  // first the events of given_, two of each
};

}  // namespace ferry
