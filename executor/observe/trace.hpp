// Trace: records when each instruction ran, for chrome://tracing and Perfetto. Format: the JSON array of "Trace Event
// Format" (Google, 2016).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The events of one task. In the viewer a process is a task and a thread is a walker or a queue of a device. A message
/// is an arrow from its `send` to the `receive_wait` that it ends. A wait of an instruction for other threads is a
/// separate event. Work of a queue is two events: walker 0 gives the work to the queue (`launch`), and the device does
/// it. A step is an event around its instructions, with the data that the task sends in the step according to the plan.
/// Each walker adds to its own list, without locks. In a long run only the first kMostEvents are kept, since a viewer
/// cannot show more.
class Trace {
 public:
  static constexpr std::size_t kMostEvents = 1 << 18;  ///< per walker or queue

  struct QueueName {
    std::uint32_t gpu = 0;
    PlanQueue::Role role = PlanQueue::Role::compute;
    auto operator<=>(const QueueName&) const = default;
  };

  Trace(int task, int threads) : task_(task), walkers_(static_cast<std::size_t>(threads)) {}

  /// Adds an event of walker `thread`, which waited for other threads from `due` to `begin`; called by that walker. The
  /// plan must live until str(); `plan_id` is the same for that plan on all tasks.
  void add(std::size_t thread, const Plan& plan, std::uint64_t plan_id, const Instruction& instruction, TimePoint due,
           TimePoint begin, TimePoint end) {
    walkers_[thread].add({&plan, plan_id, &instruction, due, begin, end});
  }
  /// Adds an event for walker 0 giving the instruction's work to a queue of a device; called by walker 0.
  void add_launch(const Plan& plan, std::uint64_t plan_id, const Instruction& instruction, TimePoint begin,
                  TimePoint end) {
    if (instruction.what != Opcode::collective_wait)  // gives no work to a queue
      walkers_[0].add({&plan, plan_id, &instruction, begin, begin, end, true});
  }
  /// Adds an event for the instruction's work on a queue of a device; called by walker 0.
  void add_queued(QueueName queue, const Plan& plan, std::uint64_t plan_id, const Instruction& instruction,
                  TimePoint begin, TimePoint end) {
    queues_[queue].add({&plan, plan_id, &instruction, begin, begin, end});
  }
  /// Adds a finished step, or with `number` -1 the setup. `region_runs`: how often each region ran. If an event was
  /// left out, the step is not added. Called while no walker runs.
  void add_step(const Plan& plan, std::int64_t number, TimePoint begin, TimePoint end,
                std::span<const std::int64_t> region_runs);

  /// The number of events that were left out: those after the first kMostEvents of their walker or queue.
  [[nodiscard]] std::uint64_t left_out() const;

  /// The events as JSON objects, one per line with a comma at its end. `offset` is added to every time.
  [[nodiscard]] std::string str(Duration offset) const;

 private:
  struct Event {
    const Plan* plan;
    std::uint64_t plan_id;
    const Instruction* instruction;
    TimePoint due, begin, end;
    bool launches = false;
  };
  struct Step {
    const Plan* plan;
    std::int64_t number;
    TimePoint begin, end;
    std::vector<std::int64_t> region_runs;
  };
  struct Events {
    void add(const Event& event) {
      if (list.size() < kMostEvents)
        list.push_back(event);
      else
        ++left_out;
    }
    std::vector<Event> list;
    std::uint64_t left_out = 0;
  };

  class Lines;
  [[nodiscard]] std::string step_lines(Duration offset) const;

  int task_;
  std::vector<Events> walkers_;
  std::map<QueueName, Events> queues_;
  std::vector<Step> steps_;
};

/// The offset to add to this task's clock to get task 0's: the median over several exchanges, from which all tasks
/// return at nearly the same time. All tasks call it.
[[nodiscard]] Duration clock_offset(Transport& transport, const Deadline& deadline);

}  // namespace ferry
