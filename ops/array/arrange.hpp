// More ops that rearrange the elements of arrays: roll, flip, triangles, tile, padding, blocks of pixels. x may have
// any dtype, which is also the dtype of the result.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or sizes do not fit. Axes are
// counted from the end when negative.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// x with its elements along `axis` moved up by `shift` (down if it is negative). Elements that leave at one end enter
/// at the other, as in periodic boundaries. The size of the dim must be known. If the dim is split over tasks, only
/// rows near the ends of parts are sent.
///
///     roll(g.constant({1, 2, 3, 4}), 1, 0);  // [4 1 2 3]
Value roll(const Value& x, std::int64_t shift, std::int64_t axis, source_location at = source_location::current());

/// x with the order of its elements reversed along each of `axes`.
///
///     flip(g.constant({{1, 2, 3}, {4, 5, 6}}), {1});  // [[3 2 1] [6 5 4]]
Value flip(const Value& x, Ints axes, source_location at = source_location::current());

/// The matrices in the last two dims of x, with 0 above (triu: below) the k-th diagonal. Diagonal 0 begins at the first
/// element, diagonal 1 to the right of it, diagonal -1 below it.
///
///     tril(g.constant({{1, 2}, {3, 4}}));  // [[1 0] [3 4]]
///     triu(g.constant({{1, 2}, {3, 4}}));  // [[1 2] [0 4]]
Value tril(const Value& x, std::int64_t k = 0, source_location at = source_location::current());
Value triu(const Value& x, std::int64_t k = 0, source_location at = source_location::current());

/// x repeated repeats[d] times along each dim d. `repeats` has a number for each dim of x.
///
///     tile(g.constant({1, 2}), {3});  // [1 2 1 2 1 2]
Value tile(const Value& x, Ints repeats, source_location at = source_location::current());

/// The content of padding. reflect: x mirrored at its outermost elements, which are not repeated. edge: the outermost
/// elements. wrap: x again, from its other end.
enum class PadMode { reflect, edge, wrap };

/// x with `low[d]` elements added at the front of dim d and `high[d]` at its end. A negative number removes elements.
/// The sizes of dims that are padded must be known.
///
///     pad(g.constant({1, 2, 3}), {2}, {1}, PadMode::reflect);  // [3 2 1 2 3 2]
Value pad(const Value& x, Ints low, Ints high, PadMode mode, source_location at = source_location::current());

/// Converts [n, c, h, w] to [n, c / block², h * block, w * block]: the channels of a pixel become a square of pixels.
/// Pixel (i,j) of the square in channel k is channel (i * block + j) * c / block² + k of x, or with `channels_first`
/// channel k * block² + i * block + j.
///
///     depth_to_space(g.input("x", {8, 12, 16, 16}), 2);  // float32[8,3,32,32]
Value depth_to_space(const Value& x, std::int64_t block, bool channels_first = false,
                     source_location at = source_location::current());

/// The inverse of depth_to_space with the same `channels_first`.
///
///     space_to_depth(images, 2);  // float32[8,12,16,16]
Value space_to_depth(const Value& x, std::int64_t block, bool channels_first = false,
                     source_location at = source_location::current());

/// x [time, batch, …] (or [batch, time, …] if `time_axis` is 1) with the first lengths[b] elements of sequence b in
/// reverse order. `lengths` is int32 or int64 [batch]. A negative length, or a length above the number of steps, is an
/// error at run time.
///
///     reverse_sequence(g.constant({{1}, {2}, {3}}), g.constant({2}));  // [[2] [1] [3]]
Value reverse_sequence(const Value& x, const Value& lengths, std::int64_t time_axis = 0,
                       source_location at = source_location::current());

/// The ops, with their attributes in braces: Flip {axes}, Triangle {k, upper}, ReverseSequence {time_axis}.
[[nodiscard]] std::span<const OpDef* const> arrange_ops();

}  // namespace ferry
#pragma GCC visibility pop
