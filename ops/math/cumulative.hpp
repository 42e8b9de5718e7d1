// Cumulative sums and products.
//
// Errors: all functions throw Error(plan), with the caller's line, when axes or dtypes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Element i along `axis` is the sum of x's elements up to and including i. With `exclusive`, it is the sum of the
/// elements before i, which is 0 for the first. With `reverse`, elements are counted from the end. Numbers of any
/// dtype, added one after another.
///
///     cumsum(g.constant({1, 2, 3}), 0);        // [1 3 6]
///     cumsum(g.constant({1, 2, 3}), 0, true);  // [0 1 3]
Value cumsum(const Value& x, std::int64_t axis, bool exclusive = false, bool reverse = false,
             source_location at = source_location::current());

/// The cumulative product, with the options of cumsum(). With `exclusive`, the first element is 1. The gradient is also
/// right for elements that are 0.
///
///     cumprod(g.constant({2, 3, 4}), 0);  // [2 6 24]
Value cumprod(const Value& x, std::int64_t axis, bool exclusive = false, bool reverse = false,
              source_location at = source_location::current());

/// The ops, with their attributes in braces: CumSum, CumProd {axis, exclusive, reverse: bool, false if absent}.
[[nodiscard]] std::span<const OpDef* const> cumulative_ops();

}  // namespace ferry
#pragma GCC visibility pop
