// Comparisons, logic, selection and conversion. They are elementwise; operands are broadcast as in numpy.
//
// Errors: Error(plan) with the caller's line when shapes or dtypes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Comparisons of numbers (equal and not_equal: also of bools). The result is bool; two dtypes are promoted as in
/// ops/math/math.hpp. Comparisons with NaN are false, except for not_equal.
///
///     less(g.constant({1, 5}), g.constant({3, 3}));  // [true false]
///     g.constant({1, 5}) >= 5;                       // [false true]
Value equal(const Operand& a, const Operand& b);
Value not_equal(const Operand& a, const Operand& b);
Value less(const Operand& a, const Operand& b);
Value less_equal(const Operand& a, const Operand& b);
Value greater(const Operand& a, const Operand& b);
Value greater_equal(const Operand& a, const Operand& b);

inline Value operator<(const Operand& a, const Operand& b) {
  return less(a, b);
}
inline Value operator<=(const Operand& a, const Operand& b) {
  return less_equal(a, b);
}
inline Value operator>(const Operand& a, const Operand& b) {
  return greater(a, b);
}
inline Value operator>=(const Operand& a, const Operand& b) {
  return greater_equal(a, b);
}

/// Logical operations on bools.
///
///     logical_and(g.constant({true, false}), g.constant({true, true}));  // [true false]
///     logical_not(g.constant({true, false}));                            // [false true]
Value logical_and(const Operand& a, const Operand& b);
Value logical_or(const Operand& a, const Operand& b);
Value logical_not(const Value& x, source_location at = source_location::current());

/// The element of a if `condition` (bool) is true, else the element of b. One of a and b may be a number; two dtypes
/// are promoted as in ops/math/math.hpp.
///
///     select(g.constant({true, false}), g.constant({1, 2}), 0);  // [1 0]
Value select(const Value& condition, const Operand& a, const Operand& b,
             source_location at = source_location::current());

/// Converts x to `dtype`. Floating-point to integer truncates; values out of range saturate, and NaN becomes 0. Integer
/// to integer wraps around. Conversion to floating-point rounds to the nearest. To bool: x != 0; from bool: 0 or 1.
/// Returns x itself if it has this dtype.
///
///     cast(g.constant({-1.5, 2.7}), DType::int32);  // [-1 2]
Value cast(const Value& x, DType dtype, source_location at = source_location::current());

/// The bits of x as elements of `dtype`, which has the same size and is not bool. Returns x itself if it has this
/// dtype.
///
///     bit_cast(g.constant({1.0}), DType::int32);  // [1065353216]
Value bit_cast(const Value& x, DType dtype, source_location at = source_location::current());

/// The ops, with their attributes in braces: Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, And, Or, Not,
/// Select, Cast {dtype}, BitCast {dtype}.
[[nodiscard]] std::span<const OpDef* const> logic_ops();

}  // namespace ferry
#pragma GCC visibility pop
