// Ops that order elements. NaN counts as larger than all numbers; equal elements keep their order.
//
// Errors: all functions throw Error(plan), with the caller's line, when shapes, axes or sizes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The results of top_k(): both of x's shape, but with k elements along the axis, the largest (smallest) first.
struct TopK {
  Value values;
  Value indices;  ///< int64
};
/// The k largest elements along `axis`, or the smallest, in order, and their positions. x has numbers, and k is at most
/// the size of the dim; if it is equal, the elements are sorted. Along a bounded dim the result is bounded too, and it
/// has all elements if there are fewer than k.
TopK top_k(const Value& x, std::int64_t k, std::int64_t axis = -1, bool largest = true,
           source_location at = source_location::current());

/// The results of unique() for m rows, n of them different.
struct Unique {
  Value values;   ///< [n,…]: each different row once
  Value indices;  ///< int64 [n]: where in x each first occurs
  Value inverse;  ///< int64 [m]: where in `values` each row is
  Value counts;   ///< int64 [n]: how often each occurs
};
/// The distinct rows of x (elements along dim 0; x has a rank of 1 or more), sorted or in the order in which they first
/// occur. n is a bounded dim, at most m.
Unique unique(const Value& x, bool sorted = true, source_location at = source_location::current());

/// TopK {axis, k, largest: bool}, Unique {sorted: bool}.
[[nodiscard]] std::span<const OpDef* const> sort_ops();

}  // namespace ferry
#pragma GCC visibility pop
