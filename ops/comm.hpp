// Ops that placement inserts where layouts change. They move no messages themselves: collectives and channels do.
#pragma once

#include "graph/op_def.hpp"

namespace ferry {

/// The part of a replicated value that belongs to this task: the output's window says which.
extern const OpDef kTakePart;
/// From members' parts one after another (as a collective delivers them) to the whole value, cut along `dim` in
/// `parts`.
extern const OpDef kJoinParts;
/// The inverse of JoinParts.
extern const OpDef kCutParts;

inline constexpr const OpDef* kCommOps[] = {&kTakePart, &kJoinParts, &kCutParts};

}  // namespace ferry
