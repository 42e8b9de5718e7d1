// Ops that read and write elements or blocks at positions that are data. gather() of indexing.hpp reads whole rows.
//
// Indices are int32 or int64 and counted from the end when negative; an index out of range is an error at run time.
// Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// How an update is written to an element: it replaces the element, or is combined with it, in the order of the
/// indices. If two updates replace the same element, the later update stays, but the element's gradient goes to both.
/// Bools can only be replaced.
enum class Scatter { replace, add, multiply, largest, smallest };

/// Element [i,j] of the result is x[indices[i,j], j] for axis 0, x[i, indices[i,j]] for axis 1, and so on. The indices
/// have x's rank and, except along the axis, at most x's sizes.
///
///     gather_elements(g.constant({{1, 2}, {3, 4}}), g.constant({{1, 0}}));  // [[3 2]]
Value gather_elements(const Value& x, const Value& indices, std::int64_t axis = 0,
                      source_location at = source_location::current());

/// x with `updates`, in the shape of `indices`, written to the elements that gather_elements() reads.
/// No gradient with Scatter::multiply.
///
///     scatter_elements(g.constant({0, 0, 0}), g.constant({2, 0}), g.constant({5, 6}));  // [6 0 5]
Value scatter_elements(const Value& x, const Value& indices, const Value& updates, std::int64_t axis = 0,
                       Scatter how = Scatter::replace, source_location at = source_location::current());

/// Blocks of x [b…,n1…nk,r…]. Each row of `indices` [b…,i…,k] has k numbers: a position in the dims n1…nk, which
/// selects a block [r…]. x and `indices` have the same first `batch_dims` dims, b…. The result is [b…,i…,r…].
///
///     gather_nd(g.constant({{1, 2}, {3, 4}}), g.constant({{0, 1}, {1, 0}}));  // [2 3]
Value gather_nd(const Value& x, const Value& indices, std::int64_t batch_dims = 0,
                source_location at = source_location::current());

/// x with `updates` [b…,i…,r…] written to the blocks that gather_nd() reads. No gradient with Scatter::multiply.
///
///     scatter_nd(g.constant({1, 1, 1}), g.constant({{2}, {2}}), g.constant({5, 6}), 0, Scatter::add);  // [1 1 12]
Value scatter_nd(const Value& x, const Value& indices, const Value& updates, std::int64_t batch_dims = 0,
                 Scatter how = Scatter::replace, source_location at = source_location::current());

/// The ops, with their attributes in braces: GatherElements {axis}, ScatterElements {axis, how}, GatherND {batch_dims},
/// ScatterND {batch_dims, how}. `how` is "replace", "add", "multiply", "largest" or "smallest".
[[nodiscard]] std::span<const OpDef* const> scatter_ops();

}  // namespace ferry
#pragma GCC visibility pop
