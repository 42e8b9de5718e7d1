// Queues: what a plan gives the devices of a task besides the host to do.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "executor/run/number_checks.hpp"
#include "executor/run/resolved.hpp"
#include "executor/run/waiting.hpp"
#include "kernels/device.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// The queues of a task's plan and the events between them. Of walker 0, which gives them their work in the order of
/// the list. The devices must outlive it.
class Queues {
 public:
  /// `resolved` has instructions of queues.
  Queues(ResolvedPlan& resolved, const Devices& devices);

  /// Waits until what the host is to run comes after what the queues do, as the plan says, and tells who asks what it
  /// touches.
  void before(const Resolved& r, Waiting& waiting);
  /// The host is about to read a loop's condition.
  void reads(const Resolved& loop) const;
  /// Gives a queue its instruction.
  void give(const Resolved& r, Traffic& moved);
  /// The same, and looks at the numbers that it is given and makes: the host waits for both.
  void give_checked(const Resolved& r, Traffic& moved, Waiting& waiting, NumberChecks& checks);
  /// The host is about to set a number that kernels read besides their operands: of the step, or of an iteration.
  void sets(const std::int64_t& number) const;

 private:
  struct Work {
    std::uint32_t strand = 0;
    void* queue = nullptr;     ///< null: of the host
    void* happened = nullptr;  ///< an event that others wait for; null: nobody does
    std::vector<void*> after;  ///< events
  };
  [[nodiscard]] Work& of(const Resolved& r) { return works_[static_cast<std::size_t>(r.plan - first_)]; }
  void find_works();
  void touch(const Resolved& r) const;
  void wait(void* event, const Resolved& r, Waiting& waiting);
  void wait_for_queue(void* queue, const Resolved& r, Waiting& waiting);
  /// Copies of the arrays in the host's memory.
  [[nodiscard]] std::vector<Array> on_host(std::span<const Array> arrays, void* queue, const Resolved& r,
                                           Waiting& waiting);

  ResolvedPlan& resolved_;
  const PlanClass& role_;
  const Devices& devices_;
  const Instruction* const first_;
  std::vector<Devices::Owned> host_memory_, queues_, events_;
  Devices::Owned caught_up_;  ///< recorded by wait_for_queue()
  std::vector<Work> works_;   ///< of the class's instructions
  std::vector<std::vector<std::byte>> looked_at_;
};

}  // namespace ferry
