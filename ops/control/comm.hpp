// Ops that placement inserts where layouts change. They work in this task's memory alone; collectives and channels move
// the messages.
#pragma once

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The part of a replicated value that belongs to this task: the output's window says which. A part of a bounded value
/// has only the elements before the value's extent.
extern const OpDef kTakePart;
/// Makes the whole value, which is split along `dim` into `parts`, from the members' parts, which a collective delivers
/// one after another.
extern const OpDef kJoinParts;
/// The inverse of JoinParts.
extern const OpDef kCutParts;
/// The rows of the own part of a value, split along `dim` into `parts`, that other tasks read: for each of these in
/// their order a block of rows. `reads` has the seven numbers of each Reads of the Halo (graph/types/halo.hpp).
extern const OpDef kCutHalo;
/// A value: its element at k[d] along each dim d is the element of x at begin[d] + k[d] * step[d], or `value` where
/// that is outside x. If input 1 is there, x is split along `dim`, and that input has the rows that this task reads and
/// others have, in blocks as CutHalo makes them. Along `dim` the output may also have the rows that the task reads
/// (Window::Has::read), where all of x is read as it is.
extern const OpDef kWindow;
/// A bounded value as one of fixed size: its elements, then zeros up to the bound. Collectives move, cut and add it in
/// this form.
extern const OpDef kFillBound;
/// How many elements a bounded value has here along its bounded dim: int64[1].
extern const OpDef kExtentOf;
/// The bounded value made from the result of FillBound, or a part of it, and the whole value's extent (int64[1]).
extern const OpDef kWithExtent;
/// The sum of its inputs, which have one shape, in their order.
extern const OpDef kAddUp;

inline constexpr const OpDef* kCommOps[] = {&kTakePart,  &kJoinParts, &kCutParts,   &kCutHalo, &kWindow,
                                            &kFillBound, &kExtentOf,  &kWithExtent, &kAddUp};

}  // namespace ferry
#pragma GCC visibility pop
