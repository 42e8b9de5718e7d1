// Pulse: what a task tells the others of itself, several times a second.
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
    inside,     ///< a call of a session, but no plan: it agrees with the others, plans, saves
    computing,  ///< a plan runs, and some instruction of it computes
    waiting,    ///< a plan runs, and waits for other tasks
    left        ///< done with the job
  };
  int task = 0;
  Doing doing = Doing::outside;
  bool busy = false;        ///< it computes, or its process uses a core for other things
  std::int64_t steps = 0;   ///< steps of plans that it has begun
  std::uint64_t spot = 0;   ///< changes when it continues with another instruction
  Duration age{};           ///< how long nothing of the above has changed
  std::uint64_t where = 0;  ///< waiting: equal on tasks that wait in the same collective; else 0
  std::uint64_t place = 0;  ///< waiting: equal on tasks at the same direct call of a group; else 0
  /// Waiting: the tasks that it needs something from. Inside, as long as not all tasks have made the call: the tasks
  /// whose next request it waits for, however long that takes.
  std::vector<std::int64_t> awaited{};
  std::string text{};  ///< in words: "MatMul 'h' at train.cpp:40"; outside: the function in which it sleeps

  [[nodiscard]] bool alike(const Pulse& other) const {
    return doing == other.doing && steps == other.steps && spot == other.spot && where == other.where;
  }
};

void add(const Pulse& pulse, BlobWriter& to);
/// Errors as BlobReader.
[[nodiscard]] Pulse read_pulse(BlobReader& from);

}  // namespace ferry
