// Short forms of MemberRef, used by the algorithms of collectives.
#pragma once

#include "plan/schedule/member_ref.hpp"

namespace ferry::steps {

/// The member that executes the step.
inline constexpr MemberRef own{.by = MemberRef::By::shift, .value = 0};

/// The member `distance` >= 0 places after the executing member, cyclically.
constexpr MemberRef next(int distance) {
  return {.by = MemberRef::By::shift, .value = distance};
}

constexpr MemberRef fixed(int member) {
  return {.by = MemberRef::By::number, .value = member};
}

/// The member with a number that differs from the executing member's number in the bits of `bits`.
constexpr MemberRef flipped(int bits) {
  return {.by = MemberRef::By::flip, .value = bits};
}

}  // namespace ferry::steps
