// StragglerWatch: says which tasks stay behind for some time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "executor/watch/straggler.hpp"
#include "executor/watch/work_times.hpp"

namespace ferry {

/// One for a job; to be called by one thread, every tell_interval().
class StragglerWatch {
 public:
  /// ferry warns about a task after it has been found in this many consecutive looks.
  static constexpr int kLooks = 6;

  explicit StragglerWatch(std::size_t tasks) : seen_(tasks) {}

  /// The stragglers to warn of now, each task once; `tasks` has what each measured last, in order. A look at a task
  /// that has measured nothing since the last does not count.
  [[nodiscard]] std::vector<Straggler> look(std::span<const WorkTimes> tasks);

 private:
  struct Seen {
    std::int64_t samples = 0;
    int looks = 0;
    bool told = false;
  };
  std::vector<Seen> seen_;  // by task
};

}  // namespace ferry
