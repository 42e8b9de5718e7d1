// How the algorithms of collectives name members and parts.
#pragma once

#include "placement/schedule.hpp"

namespace ferry::steps {

/// The member that executes the step.
inline constexpr MemberRef own{.by = MemberRef::By::shift, .value = 0};

/// The one `distance` >= 0 after it.
constexpr MemberRef next(int distance) {
  return {.by = MemberRef::By::shift, .value = distance};
}

constexpr MemberRef fixed(int member) {
  return {.by = MemberRef::By::number, .value = member};
}

/// The one whose number differs in the bits of `bits`.
constexpr MemberRef flipped(int bits) {
  return {.by = MemberRef::By::flip, .value = bits};
}

}  // namespace ferry::steps
