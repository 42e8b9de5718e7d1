// TimeLimit: how long waits may take, before a deadline is made of it.
#pragma once

#include "base/system/clock.hpp"

namespace ferry {

struct TimeLimit {
  Clock* clock;  ///< not null; must outlive this
  Duration time;

  /// The deadline of a wait that begins now.
  [[nodiscard]] Deadline from_now() const { return {*clock, time}; }
};

}  // namespace ferry
