// Ops that change how a value's elements are arranged in dims. No bytes are moved, except when rows of a bounded value
// change their size (the op ReshapeRows).
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes or axes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// x as another value, which may have a name, a device and a layout of its own.
Value identity(const Value& x, source_location at = source_location::current());
/// x, through which no gradient flows.
Value stop_gradient(const Value& x, source_location at = source_location::current());

/// The elements of x, in row-major order, in an array of these sizes. One size may be -1; it follows from the number of
/// elements and the other sizes. If x has one symbolic dim, the -1 is that dim when the other sizes agree:
/// [batch,28,28] to {-1, 784} is [batch,784]. If x is bounded the first size must be -1: [<=3,8] to {-1, 2} is
/// [<=12,2]. It is an error at run time if the elements of a step do not make up whole rows.
Value reshape(const Value& x, Ints sizes, source_location at = source_location::current());
/// The elements of x in the shape of `like`.
Value reshape_as(const Value& x, const Value& like, source_location at = source_location::current());
/// x with dims of size 1 inserted, which are dims `axes` of the result (negative: from its end).
Value expand_dims(const Value& x, Ints axes, source_location at = source_location::current());
/// x without dims `axes`, which must have size 1.
Value squeeze(const Value& x, Ints axes, source_location at = source_location::current());

/// Identity, StopGradient, Reshape {shape: ints}, ReshapeRows {row: ints, the sizes after the first},
/// ReshapeLike(x, like), ExpandDims, Squeeze {axes: ints}.
[[nodiscard]] std::span<const OpDef* const> reshape_ops();

}  // namespace ferry
#pragma GCC visibility pop
