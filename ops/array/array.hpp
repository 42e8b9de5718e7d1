// Ops that rearrange, join and cut arrays: transpose, concat, split, slice, pad. x may have any dtype, which is also
// the dtype of the result.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or sizes do not fit. Axes are
// counted from the end when negative.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// x with its dims in the order `perm`: dim i of the result is dim perm[i] of x. An empty `perm` reverses the dims.
///
///     transpose(g.constant({{1, 2, 3}, {4, 5, 6}}));  // [[1 4] [2 5] [3 6]]
Value transpose(const Value& x, Ints perm = {}, source_location at = source_location::current());

/// Joins one or more values along `axis`. Their other dims must be equal. Their dtypes are promoted as in
/// ops/math/math.hpp. Bounded values can be joined along dim 0; each contributes the rows that it has in the step.
///
///     concat({g.constant({1, 2}), g.constant({3})}, 0);  // [1 2 3]
Value concat(std::span<const Value> values, std::int64_t axis, source_location at = source_location::current());
inline Value concat(const Values& values, std::int64_t axis, source_location at = source_location::current()) {
  return concat(std::span<const Value>(values), axis, at);
}

/// Cuts x along `axis` into parts of these sizes. The sum of the sizes must be the size of the dim.
///
///     split(g.constant({1, 2, 3}), 0, {1, 2})[1];  // [2 3]
Values split(const Value& x, std::int64_t axis, Ints sizes, source_location at = source_location::current());

/// The end of a dim of any size.
inline constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// The elements at begin, begin + step, … (before end) along `axis`. Negative begin and end are counted from the end of
/// the dim; both are clamped to its range. step >= 1.
///
///     slice(g.constant({1, 2, 3, 4}), 0, 1, -1);       // [2 3]
///     slice(g.constant({1, 2, 3, 4}), 0, 0, kEnd, 2);  // [1 3]
Value slice(const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end = kEnd, std::int64_t step = 1,
            source_location at = source_location::current());

/// Slices along several axes: `begin`, `end` and `step` have one number for each axis (an empty `step`: 1).
///
///     slice(g.constant({{1, 2, 3}, {4, 5, 6}}), {0, 1}, {1, 0}, {2, 2});  // [[4 5]]
Value slice(const Value& x, Ints axes, Ints begin, Ints end, Ints step = {},
            source_location at = source_location::current());

/// The elements of a dim that a slice takes.
struct SliceRange {
  std::int64_t first = 0;  ///< the first element, counted from 0
  std::int64_t count = 0;  ///< the number of elements
};

/// The range of slice() in a dim of `size` elements.
///
///     slice_range(10, 1, -1, 2).count;  // 4
[[nodiscard]] constexpr SliceRange slice_range(std::int64_t size, std::int64_t begin, std::int64_t end,
                                               std::int64_t step) {
  const auto resolve = [size](std::int64_t at) {
    return at >= size ? size : at >= 0 ? at : at >= -size ? at + size : 0;
  };
  const std::int64_t first = resolve(begin);
  const std::int64_t last = resolve(end);
  return {first, last > first ? (last - first - 1) / step + 1 : 0};
}

/// x with `low[d]` elements added at the front of dim d and `high[d]` at its end, all equal to `value`.
///
///     pad(g.constant({1, 2}), {1}, {2}, 9);  // [9 1 2 9 9]
Value pad(const Value& x, Ints low, Ints high, const Literal& value = 0,
          source_location at = source_location::current());

/// The ops, with their attributes in braces: Transpose {perm}, Concat {axis}, Split {axis, sizes}, Slice {axes, begin,
/// end, step}, Pad {low, high, value}. Unslice(y, like), with the attributes of Slice, is the gradient of Slice: zeros
/// in the shape of `like`, with y in place of the slice.
[[nodiscard]] std::span<const OpDef* const> array_ops();

}  // namespace ferry
#pragma GCC visibility pop
