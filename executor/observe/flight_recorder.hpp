// FlightRecorder: keeps the last instructions of a task, to be reported if its job fails.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "base/system/clock.hpp"
#include "executor/watch/flight_record.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// One per task. Each walker records the instructions that it begins in a ring of its own, without locks. Any thread
/// may call record() at the same time.
class FlightRecorder final : public FlightSource {
 public:
  static constexpr std::uint64_t kKept = 2000;  ///< events per walker
  static constexpr std::size_t kPlans = 8;      ///< number of plans that are kept, to name their instructions

  FlightRecorder(int task, int threads) : task_(task), rings_(static_cast<std::size_t>(threads)) {}

  /// Sets the plan of the instructions that follow. Called by the task's thread while no walker runs.
  void runs(std::shared_ptr<const Plan> plan);
  /// Walker 0 begins a step.
  void begins_step(std::int64_t step) { add(0, kStep | (static_cast<std::uint64_t>(step) & kLow)); }
  /// A walker begins an instruction of the plan that runs.
  void begins(std::size_t thread, const Instruction& instruction) {
    add(thread, static_cast<std::uint64_t>(serial_) << 32U |
                    static_cast<std::uint32_t>(&instruction - role_->instructions.data()));
  }

  [[nodiscard]] FlightRecord record(TimePoint now) const override;

 private:
  static constexpr std::uint64_t kStep = std::uint64_t{1} << 63U, kLow = kStep - 1;

  struct Event {
    std::atomic<std::int64_t> time{0};
    std::atomic<std::uint64_t> what{0};  ///< kStep and the step, or a plan's serial number and the instruction's index
  };
  struct alignas(64) Ring {
    std::atomic<std::uint64_t> count{0};  ///< number of events added so far
    std::array<Event, kKept> events;
  };

  void add(std::size_t thread, std::uint64_t what) {
    Ring& ring = rings_[thread];
    const std::uint64_t count = ring.count.load(std::memory_order_relaxed);
    Event& event = ring.events[count % kKept];
    // A reader reads `count` after the slot, to find out whether the slot has been reused meanwhile.
    event.time.store(system_clock().now().time_since_epoch().count(), std::memory_order_release);
    event.what.store(what, std::memory_order_release);
    ring.count.store(count + 1, std::memory_order_release);
  }
  [[nodiscard]] std::string text(std::uint64_t what) const;

  const int task_;
  std::deque<Ring> rings_;
  const PlanClass* role_ = nullptr;  ///< of the plan that runs
  std::uint32_t serial_ = 0;
  mutable std::mutex mutex_;
  std::deque<std::pair<std::uint32_t, std::shared_ptr<const Plan>>> plans_;
};

}  // namespace ferry
