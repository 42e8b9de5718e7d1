// Ops that change the dims of a value, but not the order of its elements. They move no bytes, except if rows of a
// bounded value change their size (the op ReshapeRows). x may have any dtype, which is also the dtype of the result.
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

/// x as a new value, which can have its own name, device and layout.
///
///     identity(x).named("copy").name();  // "copy"
Value identity(const Value& x, source_location at = source_location::current());

/// x, but no gradient flows through the result.
///
///     Value v = g.constant({3.0});
///     gradients(v * stop_gradient(v), {v})[0];  // [3]
Value stop_gradient(const Value& x, source_location at = source_location::current());

/// The elements of x, in row-major order, in an array of these sizes. One size may be -1; it is computed from the
/// number of elements and the other sizes. If x has one symbolic dim and the other sizes agree, -1 stands for that dim:
/// [batch,28,28] to {-1, 784} is [batch,784]. If x is bounded, the first size must be -1: [<=3,8] to {-1, 2} is
/// [<=12,2]. It is an error at run time if the elements of a step do not fill whole rows.
///
///     reshape(g.constant({1, 2, 3, 4, 5, 6}), {-1, 3});  // [[1 2 3] [4 5 6]]
Value reshape(const Value& x, Ints sizes, source_location at = source_location::current());

/// The elements of x in the shape of `like`.
///
///     reshape_as(g.constant({1, 2, 3, 4}), g.constant({{0, 0}, {0, 0}}));  // [[1 2] [3 4]]
Value reshape_as(const Value& x, const Value& like, source_location at = source_location::current());

/// x with dims of size 1 inserted. `axes` are the positions of the new dims in the result (negative: from its end).
///
///     expand_dims(g.constant({1, 2}), {0, 2});  // int32[1,2,1]
Value expand_dims(const Value& x, Ints axes, source_location at = source_location::current());

/// x without the dims `axes`, which must have size 1.
///
///     squeeze(g.constant({{1}, {2}}), {1});  // [1 2]
Value squeeze(const Value& x, Ints axes, source_location at = source_location::current());

/// The ops, with their attributes in braces: Identity, StopGradient, Reshape {shape: ints}, ReshapeRows {row: ints, the
/// sizes after the first}, ReshapeLike(x, like), ExpandDims, Squeeze {axes: ints}.
[[nodiscard]] std::span<const OpDef* const> reshape_ops();

}  // namespace ferry
#pragma GCC visibility pop
