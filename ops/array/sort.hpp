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

/// The results of top_k(). Both have x's shape, but k elements along the axis: the largest (or smallest) first.
struct TopK {
  Value values;   ///< x's dtype
  Value indices;  ///< int64
};

/// The k largest (or smallest) elements along `axis`, in order, and their positions. x has numbers, and k is at most
/// the size of the dim; if k is this size, all elements are sorted. Along a bounded dim, the result is also bounded,
/// and it has all elements if there are fewer than k.
///
///     TopK top = top_k(g.constant({3, 1, 2}), 2);
///     top.values;   // [3 2]
///     top.indices;  // [0 2]
TopK top_k(const Value& x, std::int64_t k, std::int64_t axis = -1, bool largest = true,
           source_location at = source_location::current());

/// The results of unique() for m rows, n of them distinct.
struct Unique {
  Value values;   ///< [n,…]: each distinct row once
  Value indices;  ///< int64 [n]: the position in x of each distinct row's first occurrence
  Value inverse;  ///< int64 [m]: the position in `values` of each row of x
  Value counts;   ///< int64 [n]: the number of occurrences of each distinct row
};

/// The distinct rows of x (elements along dim 0; x has a rank of 1 or more), sorted or in the order of their first
/// occurrences. n is a bounded dim of at most m.
///
///     Unique found = unique(g.constant({3, 1, 3}));
///     found.values;   // [1 3]
///     found.indices;  // [1 0]
///     found.inverse;  // [1 0 1]
///     found.counts;   // [1 2]
Unique unique(const Value& x, bool sorted = true, source_location at = source_location::current());

/// The ops, with their attributes in braces: TopK {axis, k, largest: bool}, Unique {sorted: bool}.
[[nodiscard]] std::span<const OpDef* const> sort_ops();

}  // namespace ferry
#pragma GCC visibility pop
