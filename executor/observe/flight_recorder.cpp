#include "executor/observe/flight_recorder.hpp"

#include <algorithm>
#include <string>

#include "executor/observe/instruction_text.hpp"

namespace ferry {

void FlightRecorder::runs(std::shared_ptr<const Plan> plan) {
  if (!plans_.empty() && plans_.back().second == plan) return;
  role_ = &plan->class_for(task_);
  ++serial_;
  const std::lock_guard lock(mutex_);
  plans_.emplace_back(serial_, std::move(plan));
  if (plans_.size() > kPlans) plans_.pop_front();
}

FlightRecord FlightRecorder::record(TimePoint now) const {
  FlightRecord record;
  const std::lock_guard lock(mutex_);
  for (std::size_t thread = 0; thread < rings_.size(); ++thread) {
    const Ring& ring = rings_[thread];
    const std::uint64_t count = ring.count.load(std::memory_order_acquire);
    const std::size_t first = record.size();
    for (std::uint64_t i = count > kKept ? count - kKept : 0; i < count; ++i) {
      const Event& event = ring.events[i % kKept];
      const TimePoint time{Duration(event.time.load(std::memory_order_acquire))};
      record.push_back({now - time, static_cast<int>(thread), text(event.what.load(std::memory_order_acquire))});
    }
    const std::uint64_t after = ring.count.load(std::memory_order_relaxed);
    const std::uint64_t kept = std::min(count, kKept);
    const std::uint64_t replaced = after + 1 > kKept ? after + 1 - kKept : 0;
    if (const std::uint64_t begin = count - kept; replaced > begin)
      record.erase(record.begin() + static_cast<std::ptrdiff_t>(first),
                   record.begin() + static_cast<std::ptrdiff_t>(first + std::min(replaced - begin, kept)));
  }
  std::ranges::stable_sort(record, std::ranges::greater(), &FlightEvent::age);
  return record;
}

std::string FlightRecorder::text(std::uint64_t what) const {
  if ((what & kStep) != 0) return "step " + std::to_string(what & kLow);
  const auto serial = static_cast<std::uint32_t>(what >> 32U);
  const auto plan = std::ranges::find(plans_, serial, &std::pair<std::uint32_t, std::shared_ptr<const Plan>>::first);
  if (plan == plans_.end()) return "an instruction of an earlier plan";
  const Instruction& instruction = plan->second->class_for(task_).instructions[what & UINT32_MAX];
  return instruction_text(*plan->second, instruction, task_);
}

}  // namespace ferry
