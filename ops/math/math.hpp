// Elementwise arithmetic and functions. Operands are broadcast and cast to one dtype as in numpy; a number takes the
// dtype of the other operand (docs/reference/dtypes.md). The result has this dtype. Integers wrap around.
//
// Errors: Error(plan) with the caller's line when shapes or dtypes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// a + b.
///
///     add(g.constant({1, 2}), g.constant({3, 4}));  // [4 6]
///     g.constant({1, 2}) + 10;                      // [11 12]
Value add(const Operand& a, const Operand& b);

/// a - b.
///
///     sub(g.constant({1, 2}), g.constant({3, 5}));  // [-2 -3]
Value sub(const Operand& a, const Operand& b);

/// a * b.
///
///     mul(g.constant({1, 2}), g.constant({3, 5}));  // [3 10]
Value mul(const Operand& a, const Operand& b);

/// a / b. The quotient of integers is rounded toward zero; a division of integers by zero is an error at run time.
///
///     div(g.constant({1.0, 7.0}), 2);  // [0.5 3.5]
///     div(g.constant({-7, 7}), 2);     // [-3 3]
Value div(const Operand& a, const Operand& b);

/// -x, for signed integers and floating-point values.
///
///     neg(g.constant({1, -2}));  // [-1 2]
Value neg(const Operand& x);

/// a to the power of b. Integers wrap around. If b is a negative integer, the result is 1 / a^-b rounded toward zero,
/// or 0 if a is 0.
///
///     pow(g.constant({2.0, 9.0}), g.constant({3.0, 0.5}));  // [8 3]
Value pow(const Operand& a, const Operand& b);

/// The larger (smaller) of each pair; 0 is larger than -0. NaN if either is NaN. If both are equal, the gradient goes
/// to a.
///
///     maximum(g.constant({1, 5}), 3);  // [3 5]
///     minimum(g.constant({1, 5}), 3);  // [1 3]
Value maximum(const Operand& a, const Operand& b);
Value minimum(const Operand& a, const Operand& b);

/// The remainder of a / b with the quotient rounded down: it has b's sign, like Python's %. For integers, b = 0 is an
/// error at run time. The gradient ignores the jumps.
///
///     mod(g.constant({-7, 7}), 3);  // [2 1]
Value mod(const Operand& a, const Operand& b);

/// The remainder of a / b with the quotient rounded toward zero: it has a's sign, like C's fmod. b = 0 and the gradient
/// are as for mod().
///
///     fmod(g.constant({-7, 7}), 3);  // [-1 1]
Value fmod(const Operand& a, const Operand& b);

inline Value operator+(const Operand& a, const Operand& b) {
  return add(a, b);
}
inline Value operator-(const Operand& a, const Operand& b) {
  return sub(a, b);
}
inline Value operator*(const Operand& a, const Operand& b) {
  return mul(a, b);
}
inline Value operator/(const Operand& a, const Operand& b) {
  return div(a, b);
}
inline Value operator-(const Operand& x) {
  return neg(x);
}

/// min(max(x, low), high).
///
///     clip(g.constant({-5, 1, 5}), 0, 3);  // [0 1 3]
Value clip(const Value& x, const Operand& low, const Operand& high);

// The functions below take floating-point values. The exceptions are abs, sign and square, which take numbers of any
// dtype, and relu, which takes signed numbers.

/// The absolute value. The gradient at 0 is 0.
///
///     abs(g.constant({-3, 2}));  // [3 2]
Value abs(const Value& x, source_location at = source_location::current());

/// -1, 0 or 1. No gradient.
///
///     sign(g.constant({-3.0, 0.0, 2.0}));  // [-1 0 1]
Value sign(const Value& x, source_location at = source_location::current());

/// x * x.
///
///     square(g.constant({-3, 2}));  // [9 4]
Value square(const Value& x, source_location at = source_location::current());

/// e to the power of x.
///
///     exp(g.constant({0.0, 1.0}));  // [1 2.71828]
Value exp(const Value& x, source_location at = source_location::current());

/// The natural logarithm: NaN for x < 0, -infinity for 0.
///
///     log(g.constant({1.0, 10.0}));  // [0 2.30259]
Value log(const Value& x, source_location at = source_location::current());

/// The square root: NaN for x < 0.
///
///     sqrt(g.constant({4.0, 2.0}));  // [2 1.41421]
Value sqrt(const Value& x, source_location at = source_location::current());

/// 1 / sqrt(x).
///
///     rsqrt(g.constant({4.0, 2.0}));  // [0.5 0.707107]
Value rsqrt(const Value& x, source_location at = source_location::current());

/// The hyperbolic tangent.
///
///     tanh(g.constant({0.0, 1.0}));  // [0 0.761594]
Value tanh(const Value& x, source_location at = source_location::current());

/// 1 / (1 + exp(-x)).
///
///     sigmoid(g.constant({0.0, 1.0}));  // [0.5 0.731059]
Value sigmoid(const Value& x, source_location at = source_location::current());

/// max(x, 0). Its gradient at 0 is 0.
///
///     relu(g.constant({-1.0, 2.0}));  // [0 2]
Value relu(const Value& x, source_location at = source_location::current());

/// 1 / x.
///
///     reciprocal(g.constant({2.0, 4.0}));  // [0.5 0.25]
Value reciprocal(const Value& x, source_location at = source_location::current());

/// The largest integer not above x (floor), the smallest integer not below x (ceil), or the integer nearest to x
/// (round); halves are rounded to the even integer. No gradient.
///
///     floor(g.constant({-1.5, 2.5}));  // [-2 2]
///     ceil(g.constant({-1.5, 2.5}));   // [-1 3]
///     round(g.constant({-1.5, 2.5}));  // [-2 2]
Value floor(const Value& x, source_location at = source_location::current());
Value ceil(const Value& x, source_location at = source_location::current());
Value round(const Value& x, source_location at = source_location::current());

/// The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x.
///
///     erf(g.constant({0.0, 1.0}));  // [0 0.842701]
Value erf(const Value& x, source_location at = source_location::current());

/// The ops: Add, Sub, Mul, Div, Neg, Pow, Maximum, Minimum, Abs, Sign, Square, Exp, Log, Sqrt, Rsqrt, Tanh, Sigmoid,
/// Relu, ReluGrad(dy, y) = y > 0 ? dy : 0, Erf, Mod, Fmod, Floor, Ceil, Round.
[[nodiscard]] std::span<const OpDef* const> math_ops();

}  // namespace ferry
#pragma GCC visibility pop
