// Reading and writing single elements or blocks at positions that are data. (gather() of indexing.hpp takes rows.)
//
// Indices are int32 or int64 and counted from the end when negative; one out of range is an error when it
// runs. Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

namespace ferry {

/// How an element is written: replaced, or combined with the update, in the order of the indices. If two updates
/// replace one element the later one stays; its gradient then goes to both.
enum class Scatter { replace, add, multiply, largest, smallest };

/// [i,j] of the result is x[indices[i,j], j] for axis 0, x[i, indices[i,j]] for axis 1, and so on. indices have x's
/// rank and, but along the axis, at most its sizes.
Value gather_elements(const Value& x, const Value& indices, std::int64_t axis = 0,
                      source_location at = source_location::current());
/// x with `updates`, of the shape of `indices`, written to the elements that gather_elements reads.
/// No gradient with Scatter::multiply.
Value scatter_elements(const Value& x, const Value& indices, const Value& updates, std::int64_t axis = 0,
                       Scatter how = Scatter::replace, source_location at = source_location::current());

/// Blocks of x. The last dim of indices [b…,i…,k] has k positions, in dims b to b + k - 1 of x [b…,n1…nk,r…]; the first
/// `batch_dims` dims b… are those of x. The result is [b…,i…,r…].
Value gather_nd(const Value& x, const Value& indices, std::int64_t batch_dims = 0,
                source_location at = source_location::current());
/// x with `updates` [b…,i…,r…] written to the blocks that gather_nd reads. No gradient with Scatter::multiply.
Value scatter_nd(const Value& x, const Value& indices, const Value& updates, std::int64_t batch_dims = 0,
                 Scatter how = Scatter::replace, source_location at = source_location::current());

/// GatherElements {axis}, ScatterElements {axis, how}, GatherND {batch_dims}, ScatterND {batch_dims, how}: `how` is
/// "replace", "add", "multiply", "largest" or "smallest".
[[nodiscard]] std::span<const OpDef* const> scatter_ops();

}  // namespace ferry
