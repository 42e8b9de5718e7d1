// Pulse: the state of a task. Its process sends it to the other processes several times a second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/blob.hpp"
#include "base/system/clock.hpp"

namespace ferry {

struct Pulse {
  enum class Doing : std::uint8_t {
    outside,    ///< the program's own code runs: no call of a session
    inside,     ///< a call of a session, but no plan: it communicates with the other tasks, plans or saves
    computing,  ///< a plan runs, and some instruction of it computes
    waiting,    ///< a plan runs, and waits for other tasks
    left        ///< the task has left the job
  };
  int task = 0;
  Doing doing = Doing::outside;
  bool busy = false;                 ///< the task computes, or its process uses a core for something else
  std::int64_t steps = 0;            ///< the number of steps of plans that the task has begun
  std::uint64_t progress_tag = 0;    ///< changes when the task continues with another instruction
  Duration age{};                    ///< the time since any field above has changed
  std::uint64_t collective_key = 0;  ///< if waiting: equal on tasks that wait in the same collective; else 0
  std::uint64_t call_key = 0;        ///< if waiting: equal on tasks at the same direct call of a group; else 0
  /// If `doing` is waiting: the tasks from which it needs something. If `doing` is inside, and some tasks have not made
  /// the call yet: those tasks. The task waits for their next request without a time limit.
  std::vector<std::int64_t> awaited{};
  std::string text{};  ///< the activity: "MatMul 'h' at train.cpp:40"; outside: the function in which the task sleeps

  [[nodiscard]] bool has_same_state(const Pulse& other) const {
    return doing == other.doing && steps == other.steps && progress_tag == other.progress_tag &&
           collective_key == other.collective_key;
  }
};

void add(const Pulse& pulse, BlobWriter& to);
/// Throws the errors of BlobReader.
[[nodiscard]] Pulse read_pulse(BlobReader& from);

}  // namespace ferry
