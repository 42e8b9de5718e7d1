// More ops that rearrange the elements of arrays.
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

/// x with its elements along `axis` moved up by `shift`, or down where it is negative; elements that leave at one end
/// enter at the other, as in periodic boundaries. The size of the dim must be known. Where the dim is split over tasks,
/// only rows near the ends of parts are sent.
Value roll(const Value& x, std::int64_t shift, std::int64_t axis, source_location at = source_location::current());
/// x with the order of its elements along these axes reversed.
Value flip(const Value& x, Ints axes, source_location at = source_location::current());
/// The matrices in the last two dims with 0 above (triu: below) the k-th diagonal. Diagonal 0 begins at the first
/// element, diagonal 1 to the right of it, diagonal -1 below it.
Value tril(const Value& x, std::int64_t k = 0, source_location at = source_location::current());
Value triu(const Value& x, std::int64_t k = 0, source_location at = source_location::current());

/// x, repeats[d] times one after another along each dim d.
Value tile(const Value& x, Ints repeats, source_location at = source_location::current());

/// What the padding consists of: x mirrored at its outermost elements (which are not repeated), the outermost elements
/// themselves, or x again, continued from its other end.
enum class PadMode { reflect, edge, wrap };
/// x with `low[d]` elements added in front of dim d and `high[d]` elements behind it. A negative number removes
/// elements. The sizes of dims that are padded must be known.
Value pad(const Value& x, Ints low, Ints high, PadMode mode, source_location at = source_location::current());

/// [n, c, h, w] as [n, c / block², h block, w block]: each pixel's channels become a square of pixels. Pixel (i,j) of
/// the square in channel k is channel (i block + j) c / block² + k of x, or with `channels_first` k block² + i block +
/// j.
Value depth_to_space(const Value& x, std::int64_t block, bool channels_first = false,
                     source_location at = source_location::current());
/// The inverse of depth_to_space of the same `channels_first`.
Value space_to_depth(const Value& x, std::int64_t block, bool channels_first = false,
                     source_location at = source_location::current());

/// x [time, batch, …], or with `time_axis` 1 [batch, time, …], with the first lengths[b] elements of sequence b in
/// reverse order; lengths are int32 or int64 [batch]. A length that is negative or exceeds the number of steps is an
/// error at run time.
Value reverse_sequence(const Value& x, const Value& lengths, std::int64_t time_axis = 0,
                       source_location at = source_location::current());

/// Flip {axes}, Triangle {k, upper}, ReverseSequence {time_axis}.
[[nodiscard]] std::span<const OpDef* const> arrange_ops();

}  // namespace ferry
#pragma GCC visibility pop
