// Ops that placement inserts where layouts change. They move no messages themselves: collectives and channels do.
#pragma once

#include "graph/op/op_def.hpp"

namespace ferry {

/// The part of a replicated value that belongs to this task: the output's window says which. Of a bounded value the
/// part has what lies before the extent.
extern const OpDef kTakePart;
/// From members' parts one after another (as a collective delivers them) to the whole value, cut along `dim` in
/// `parts`.
extern const OpDef kJoinParts;
/// The inverse of JoinParts.
extern const OpDef kCutParts;
/// A bounded value as one of known sizes: its elements, then zeros up to the bound. What collectives move, cut and add.
extern const OpDef kFillBound;
/// How many elements a bounded value has here along its bounded dim: int64[1].
extern const OpDef kExtentOf;
/// The bounded value of these elements: FillBound's, or the part of them that is here, up to the whole value's extent.
extern const OpDef kWithExtent;

inline constexpr const OpDef* kCommOps[] = {&kTakePart, &kJoinParts, &kCutParts, &kFillBound, &kExtentOf, &kWithExtent};

}  // namespace ferry
