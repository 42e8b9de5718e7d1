// Ops that placement inserts where layouts change. They access only this task's memory; collectives and channels move
// the messages.
#pragma once

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Takes this task's part of a replicated value; the output's window defines the part. A part of a bounded value has
/// only the elements before the value's extent.
extern const OpDef kTakePart;
/// Joins a value that is split along `dim` into `parts`. Its input has the parts of all members one after another, as a
/// collective delivers them.
extern const OpDef kJoinParts;
/// The inverse of JoinParts.
extern const OpDef kCutParts;
/// Copies the rows of this task's part that other tasks read, for a value that is split along `dim` into `parts`. The
/// output has one block of rows for each other task, in the order of the tasks. `reads` has the seven numbers of each
/// Reads of the Halo (graph/types/halo.hpp).
extern const OpDef kCutHalo;
/// Computes a window of x: the element of the result at k[d] along each dim d is the element of x at begin[d] + k[d] *
/// step[d], or `value` if that position is outside x. If there is an input 1, x is split along `dim`, and input 1 has
/// the rows that this task reads from other tasks' parts, in blocks as CutHalo makes them. If the window neither shifts
/// nor cuts x, the output may have the rows that this task reads along `dim`, instead of its part (Window::Has::read).
extern const OpDef kWindow;
/// Converts a bounded value to a value of fixed size: its elements, then zeros up to the bound. Collectives move, cut
/// and add bounded values in this form.
extern const OpDef kFillBound;
/// The number of elements that a bounded value has on this task along its bounded dim: int64[1].
extern const OpDef kExtentOf;
/// Makes a bounded value from the result of FillBound (or a part of it) and the extent of the whole value (int64[1]).
extern const OpDef kWithExtent;
/// The sum of inputs of equal shape, added in their order.
extern const OpDef kAddUp;

inline constexpr const OpDef* kCommOps[] = {&kTakePart,  &kJoinParts, &kCutParts,   &kCutHalo, &kWindow,
                                            &kFillBound, &kExtentOf,  &kWithExtent, &kAddUp};

}  // namespace ferry
#pragma GCC visibility pop
