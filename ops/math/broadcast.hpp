// Broadcasting to given sizes, and the inverse of broadcasting. broadcast_as() is in ops/math/sizes.hpp, which this
// header includes. x may have any dtype; for sum_as(), it has numbers.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"
#include "ops/math/sizes.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// x broadcast to these sizes, as in numpy.
///
///     broadcast_to(g.constant({1, 2}), {2, 2});  // [[1 2] [1 2]]
Value broadcast_to(const Value& x, Ints sizes, source_location at = source_location::current());

/// The inverse of broadcast_as(), and its gradient: x summed over the dims along which broadcasting repeats a value of
/// `like`'s shape.
///
///     sum_as(g.constant({{1, 2}, {3, 4}}), g.constant({0, 0}));  // [4 6]
Value sum_as(const Value& x, const Value& like, source_location at = source_location::current());

/// The ops, with their attributes in braces: BroadcastTo {shape: ints}, SumLike(x, like).
[[nodiscard]] std::span<const OpDef* const> broadcast_ops();

}  // namespace ferry
#pragma GCC visibility pop
