// Ops with indices as inputs or results: gather, one_hot, nonzero, arange, check_range. x may have any dtype.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or sizes do not fit. Axes are
// counted from the end when negative.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The rows of x along `axis` at the positions `indices` (int32 or int64, of any rank). For x [a,n,b], axis 1 and
/// indices [i,j], the result is [a,i,j,b]. Negative indices are counted from the end. An index out of range is an error
/// at run time.
///
///     gather(g.constant({10, 20, 30}), g.constant({2, 0, 2}));  // [30 10 30]
Value gather(const Value& x, const Value& indices, std::int64_t axis = 0,
             source_location at = source_location::current());

/// The one-hot encoding [..., depth] of `indices` (integers): 1 where the position along the last dim equals the index,
/// else 0. An index out of range, such as a negative index, gives only zeros.
///
///     one_hot(g.constant({2, 0}), 3);  // [[0 0 1] [1 0 0]]
Value one_hot(const Value& indices, std::int64_t depth, DType dtype = DType::float32,
              source_location at = source_location::current());

/// The positions of the elements of x that are not zero, in row-major order: int64 [n, rank]. The size n is a bounded
/// dim, at most x's number of elements. The rank of x is at least 1.
///
///     nonzero(g.constant({{0, 5}, {7, 0}}));  // [[0 1] [1 0]]
Value nonzero(const Value& x, source_location at = source_location::current());

/// The numbers 0, 1, 2, …, count - 1 as int64 [n], where n is a bounded dim of at most `most`. `count`, an int64
/// scalar, is computed in the step; a negative count means 0. A count above `most` is an error at run time. gather(x,
/// arange(count, most)) gives the first `count` rows of x.
///
///     arange(g.constant(3, DType::int64), 10);  // [0 1 2]
Value arange(const Value& count, std::int64_t most, source_location at = source_location::current());

/// The meaning of integers that check_range() checks. Its errors name it.
enum class IndexKind { position, label, length, image };
/// Returns x, and checks at run time that its integers are in [0, size). A length may also be `size`, and an element
/// that is equal to `ignored` is valid. Negative numbers do not count from the end.
///
///     check_range(g.constant({0, 2}), 3, IndexKind::label);  // [0 2]
Value check_range(const Value& x, std::int64_t size, IndexKind kind = IndexKind::position,
                  std::optional<std::int64_t> ignored = {}, source_location at = source_location::current());

/// The ops, with their attributes in braces: Gather {axis}, OneHot {depth, dtype}, NonZero, Arange {most}, CheckRange
/// {ignored, kind, size}. `kind` is "position", "label", "length" or "image".
/// ScatterAdd(y, indices, like) {axis} is the gradient of Gather: it starts with zeros in the shape of `like` and adds
/// the rows of y, in order, to the rows at `indices`.
[[nodiscard]] std::span<const OpDef* const> indexing_ops();

}  // namespace ferry
#pragma GCC visibility pop
