// TimeLimit: the time that a wait may take. Each wait makes its own deadline from it.
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
