// Ops that placement inserts where layouts change. They move no messages themselves: collectives and channels do.
#pragma once

#include "graph/op/op_def.hpp"

namespace ferry {

/// The part of a replicated value that belongs to this task: the output's window says which. The part of a bounded
/// value has the elements before the extent.
extern const OpDef kTakePart;
/// Joins members' parts, one after another as a collective delivers them, to the whole value, which is cut along `dim`
/// into `parts`.
extern const OpDef kJoinParts;
/// The inverse of JoinParts.
extern const OpDef kCutParts;
/// A bounded value as one of known sizes: its elements, then zeros up to the bound. Collectives move, cut and add it in
/// this form.
extern const OpDef kFillBound;
/// How many elements a bounded value has here along its bounded dim: int64[1].
extern const OpDef kExtentOf;
/// The bounded value with the elements of a FillBound, or of a part of it, up to the whole value's extent.
extern const OpDef kWithExtent;

inline constexpr const OpDef* kCommOps[] = {&kTakePart, &kJoinParts, &kCutParts, &kFillBound, &kExtentOf, &kWithExtent};

}  // namespace ferry
