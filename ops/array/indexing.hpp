// Ops whose inputs or results are indices.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or sizes do not fit. Axes are
// counted from the end when negative.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

namespace ferry {

/// The rows of x along `axis` that `indices` (int32 or int64, of any rank) name: of x [a,n,b], axis 1 and indices [i,j]
/// the result is [a,i,j,b]. Negative indices are counted from the end. One out of range is an error when it
/// runs.
Value gather(const Value& x, const Value& indices, std::int64_t axis = 0,
             source_location at = source_location::current());

/// [..., depth]: 1 where the position along the last dim equals the element of `indices` (integers), else 0. An index
/// out of range gives zeros alone.
Value one_hot(const Value& indices, std::int64_t depth, DType dtype = DType::float32,
              source_location at = source_location::current());

/// The positions of the elements of x that are not zero: int64 [n, rank], n at most x's number of elements (a bounded
/// dim), in row-major order. x has a rank of 1 or more.
Value nonzero(const Value& x, source_location at = source_location::current());

/// 0, 1, 2 … count - 1: int64 [n], n at most `most` (a bounded dim). `count`, an int64 scalar, is a number of the step;
/// below 0 it is as 0, above `most` an error when it runs. gather(x, arange(count, most)) are the first rows.
Value arange(const Value& count, std::int64_t most, source_location at = source_location::current());

/// Gather {axis}, ScatterAdd(y, indices, like) {axis}: zeros of like's shape to whose rows those of y are added, in the
/// order of the indices, OneHot {depth, dtype}, NonZero, Arange {most}.
[[nodiscard]] std::span<const OpDef* const> indexing_ops();

}  // namespace ferry
