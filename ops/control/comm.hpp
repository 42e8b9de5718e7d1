// Ops that placement inserts where layouts change. They work in this task's memory alone; collectives and channels move
// the messages.
#pragma once

#include "graph/op/op_def.hpp"

namespace ferry {

/// The part of a replicated value that belongs to this task: the output's window says which. A part of a bounded value
/// has only the elements before the value's extent.
extern const OpDef kTakePart;
/// Makes the whole value, which is split along `dim` into `parts`, from the members' parts, which a collective delivers
/// one after another.
extern const OpDef kJoinParts;
/// The inverse of JoinParts.
extern const OpDef kCutParts;
/// A bounded value as one of fixed size: its elements, then zeros up to the bound. Collectives move, cut and add it in
/// this form.
extern const OpDef kFillBound;
/// How many elements a bounded value has here along its bounded dim: int64[1].
extern const OpDef kExtentOf;
/// The bounded value made from the result of FillBound, or a part of it, and the whole value's extent (int64[1]).
extern const OpDef kWithExtent;

inline constexpr const OpDef* kCommOps[] = {&kTakePart, &kJoinParts, &kCutParts, &kFillBound, &kExtentOf, &kWithExtent};

}  // namespace ferry
