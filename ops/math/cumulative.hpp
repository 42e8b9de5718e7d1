// Running sums and products.
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

/// Element i along `axis` is the sum of x's elements up to and including i; `exclusive`: of those before i, 0 for the
/// first; `reverse`: counted from the end. Numbers of any dtype, added one after another.
Value cumsum(const Value& x, std::int64_t axis, bool exclusive = false, bool reverse = false,
             source_location at = source_location::current());
/// The same with products; `exclusive` gives 1 for the first. The gradient is also right where elements are 0.
Value cumprod(const Value& x, std::int64_t axis, bool exclusive = false, bool reverse = false,
              source_location at = source_location::current());

/// CumSum, CumProd {axis, exclusive, reverse: bool, false when absent}.
[[nodiscard]] std::span<const OpDef* const> cumulative_ops();

}  // namespace ferry
#pragma GCC visibility pop
