// SlowLinkWatch: says which link stays slow for some time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "executor/watch/slow_link.hpp"
#include "executor/watch/work_times.hpp"

namespace ferry {

/// One for a job; to be called by one thread, every LinkMeter::kEvery.
class SlowLinkWatch {
 public:
  /// ferry warns about a link after it has been found in this many consecutive looks.
  static constexpr int kLooks = 6;

  explicit SlowLinkWatch(std::size_t tasks) : samples_(tasks) {}

  /// The link to warn of now, the one that costs most; once for the job. `tasks` has what each measured last, in order.
  /// A look at a task that has measured nothing since the last does not count.
  [[nodiscard]] std::optional<SlowLink> look(std::span<const WorkTimes> tasks);

 private:
  std::vector<std::int64_t> samples_;         // by task
  std::map<std::pair<int, int>, int> looks_;  // by the tasks of a link: the number of looks in which it was found
  bool told_ = false;
};

}  // namespace ferry
