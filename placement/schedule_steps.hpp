// How the algorithms of collectives name members and parts.
#pragma once

#include "placement/schedule.hpp"

namespace ferry::steps {

/// The member that executes the step.
inline constexpr MemberRef own{.relative = true, .value = 0};

/// The one `distance` >= 0 after it.
constexpr MemberRef next(int distance) {
  return {.relative = true, .value = distance};
}

constexpr MemberRef fixed(int member) {
  return {.relative = false, .value = member};
}

}  // namespace ferry::steps
