#include "executor/observe/queue_times.hpp"

#include <algorithm>

namespace ferry {

QueueTimes::QueueTimes(const PlanClass& role, const Devices& devices, std::span<const Devices::Owned> queues,
                       Trace& trace)
    : role_(role), devices_(devices), queues_(queues), trace_(trace) {
  for (const PlanQueue& queue : role.queues)
    if (auto [clock, fresh] = clocks_.try_emplace(queue.device); fresh) clock->second.zero = devices.timed_event();
}

void QueueTimes::begin(const Await& await) {
  std::uint32_t device = kNone;
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    if (role_.queues[q].device == device) continue;
    device = role_.queues[q].device;
    DeviceClock& clock = clocks_.at(device);
    clock.earliest = system_clock().now();
    devices_.record(queues_[q].get(), clock.zero.get());
    await(clock.zero.get());
    clock.latest = system_clock().now();
  }
}

void* QueueTimes::event(std::size_t number) {
  if (number == events_.size()) events_.push_back(devices_.timed_event());
  return events_[number].get();
}

void QueueTimes::before(const Instruction& instruction) {
  const std::uint32_t queue = instruction.strand - role_.threads;
  const std::size_t number = 2 * given_.size();
  given_.push_back({&instruction, queue, system_clock().now(), event(number), event(number + 1)});
  devices_.record(queues_[queue].get(), given_.back().begins);
}

void QueueTimes::after() {
  devices_.record(queues_[given_.back().queue].get(), given_.back().ends);
}

void QueueTimes::DeviceClock::narrow(TimePoint not_before, TimePoint not_after) {
  const TimePoint later = std::max(earliest, not_before), sooner = std::min(latest, not_after);
  if (later > sooner) return;  // the clocks have drifted apart, so the bounds contradict each other
  earliest = later;
  latest = sooner;
}

void QueueTimes::add_from(std::size_t count, const Plan& plan, std::uint64_t plan_id, const Await& await) {
  struct Measured {
    Duration begin, end;  ///< since DeviceClock::zero
  };
  const std::span<const SubmittedWork> done = std::span(given_).subspan(count);
  std::vector<Measured> measured;
  for (const SubmittedWork& given : done) {
    await(given.ends);
    DeviceClock& clock = clocks_.at(role_.queues[given.queue].device);
    const Measured& times = measured.emplace_back(
        Measured{devices_.elapsed(clock.zero.get(), given.begins), devices_.elapsed(clock.zero.get(), given.ends)});
    clock.narrow(given.given - times.begin, system_clock().now() - times.end);
  }
  for (std::size_t i = 0; i < done.size(); ++i) {
    const PlanQueue& queue = role_.queues[done[i].queue];
    const TimePoint zero = clocks_.at(queue.device).of_zero();
    trace_.add_queued({role_.devices[queue.device].index, queue.role}, plan, plan_id, *done[i].instruction,
                      zero + measured[i].begin, zero + measured[i].end);
  }
  given_.resize(count);
}

}  // namespace ferry
