// Trace: what ran when, for chrome://tracing and Perfetto. Format: the JSON array of "Trace Event Format" (Google,
// 2016).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/system/clock.hpp"
#include "comm/transport.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// The events of one task. In the picture a task is a process, a walker is a thread of it, and a message is an arrow
/// from its `send` to its `receive_wait`. Each walker adds to its own list, without locks. In a long run only the first
/// events are kept, as many as can still be looked at.
class Trace {
 public:
  static constexpr std::size_t kMostEvents = 1 << 18;  ///< of a walker

  Trace(int task, int threads) : task_(task), walkers_(static_cast<std::size_t>(threads)) {}

  /// Adds an event of walker `thread`. The plan must live until str(); `plan_id` is the same for that plan on all
  /// tasks.
  void add(std::size_t thread, const Plan& plan, std::uint64_t plan_id, const Instruction& instruction, TimePoint begin,
           TimePoint end) {
    Walker& walker = walkers_[thread];
    if (walker.events.size() < kMostEvents)
      walker.events.push_back({&plan, plan_id, &instruction, begin, end});
    else
      ++walker.left_out;
  }

  /// The number of events that were left out: those after the first kMostEvents of their walker.
  [[nodiscard]] std::uint64_t left_out() const;

  /// The events as JSON objects, a line each with a comma at its end. `offset` is added to every time.
  [[nodiscard]] std::string str(Duration offset) const;

 private:
  struct Event {
    const Plan* plan;
    std::uint64_t plan_id;
    const Instruction* instruction;
    TimePoint begin, end;
  };
  struct Walker {
    std::vector<Event> events;
    std::uint64_t left_out = 0;
  };

  [[nodiscard]] std::string collective_line(const Event& event, double begin, double end) const;

  int task_;
  std::vector<Walker> walkers_;
};

/// The offset to add to this task's clock to get task 0's: the median over several exchanges, which all tasks leave at
/// nearly the same time. All tasks call it.
[[nodiscard]] Duration clock_offset(Transport& transport, const Deadline& deadline);

}  // namespace ferry
