// Values with the sizes of other values, and numbers of elements. Functions named `_as` and `_like` take a shape from
// another value. They use only its sizes, so they also work if sizes are not known when the graph is built. x may have
// any dtype.
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

/// x broadcast to the shape of `like`.
///
///     broadcast_as(g.constant({1, 2}), g.constant({{0, 0}, {0, 0}}));  // [[1 2] [1 2]]
Value broadcast_as(const Value& x, const Value& like, source_location at = source_location::current());

/// Zeros (ones) of the dtype and shape of `like`.
///
///     zeros_like(g.constant({5, 6}));  // [0 0]
///     ones_like(g.constant({5, 6}));   // [1 1]
Value zeros_like(const Value& like, source_location at = source_location::current());
Value ones_like(const Value& like, source_location at = source_location::current());

/// The number of elements of x in the dims `axes` (empty: all dims), as a scalar. For a split value, this is the number
/// in the whole value.
///
///     size_of(g.constant({{1, 2, 3}, {4, 5, 6}}), {1}, DType::int64);  // 3
Value size_of(const Value& x, Ints axes, DType dtype, source_location at = source_location::current());

/// The ops, with their attributes in braces: BroadcastLike(x, like), SizeOf {axes: ints, dtype}.
[[nodiscard]] std::span<const OpDef* const> size_ops();

}  // namespace ferry
#pragma GCC visibility pop
