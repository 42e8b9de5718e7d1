// Reductions over dims. Negative `axes` are counted from the end; no axes means all dims.
//
// Errors: Error(plan) with the caller's line when axes or dtypes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/attrs.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The sum over `axes`. With `keep_dims`, these dims stay, with size 1. The sum of no elements is 0. Numbers of any
/// dtype.
///
///     sum(g.constant({{1, 2}, {3, 4}}));             // 10
///     sum(g.constant({{1, 2}, {3, 4}}), {0});        // [4 6]
///     sum(g.constant({{1, 2}, {3, 4}}), {0}, true);  // [[4 6]]
Value sum(const Value& x, Ints axes = {}, bool keep_dims = false, source_location at = source_location::current());

/// The sum over `axes` divided by the number of elements (of the whole value, if it is split). Floating-point; values
/// of 16 bits are computed in float32. The mean of no elements is NaN.
///
///     mean(g.constant({{1.0, 2.0}, {3.0, 4.0}}), {1});  // [1.5 3.5]
Value mean(const Value& x, Ints axes = {}, bool keep_dims = false, source_location at = source_location::current());

/// The largest (smallest) element; NaN if any element is NaN. For no elements, the smallest (largest) value of the
/// dtype, infinities included. If several elements are the largest, they share the gradient.
///
///     max(g.constant({{1, 2}, {3, 4}}), {1});  // [2 4]
///     min(g.constant({{1, 2}, {3, 4}}), {1});  // [1 3]
Value max(const Value& x, Ints axes = {}, bool keep_dims = false, source_location at = source_location::current());
Value min(const Value& x, Ints axes = {}, bool keep_dims = false, source_location at = source_location::current());

/// The product over `axes`; 1 for no elements. Numbers of any dtype. The gradient is also right for elements that are
/// 0.
///
///     prod(g.constant({{1, 2}, {3, 4}}), {1});  // [2 12]
Value prod(const Value& x, Ints axes = {}, bool keep_dims = false, source_location at = source_location::current());

/// log(sum(exp(x))) over `axes`, computed from x - max(x). Floating-point. -infinity for no elements.
///
///     log_sum_exp(g.constant({0.0, 0.0}));  // 0.693147
Value log_sum_exp(const Value& x, Ints axes = {}, bool keep_dims = false,
                  source_location at = source_location::current());

/// The index (int64) of the largest (smallest) element along `axis`, which the result lacks. It is the first of equal
/// elements, or the last with `last`. A NaN counts as better than all numbers. The dim must not be empty.
///
///     argmax(g.constant({3, 7, 7}));            // 1
///     argmax(g.constant({3, 7, 7}), -1, true);  // 2
Value argmax(const Value& x, std::int64_t axis = -1, bool last = false,
             source_location at = source_location::current());
Value argmin(const Value& x, std::int64_t axis = -1, bool last = false,
             source_location at = source_location::current());

/// The ops, with their attributes in braces: Sum, Max, Min, Prod {axes: ints, sorted and not negative}, ArgMax, ArgMin
/// {axis: int, last: bool, false if absent}.
[[nodiscard]] std::span<const OpDef* const> reduce_ops();

}  // namespace ferry
#pragma GCC visibility pop
