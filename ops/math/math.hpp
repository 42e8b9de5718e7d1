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

Value add(const Operand& a, const Operand& b);
Value sub(const Operand& a, const Operand& b);
Value mul(const Operand& a, const Operand& b);
/// a / b. The quotient of integers is rounded toward zero; a division of integers by zero is an error at run time.
Value div(const Operand& a, const Operand& b);
Value neg(const Operand& x);
/// a to the power of b. Integers wrap around. If b is a negative integer, the result is 1 / a^-b rounded toward zero,
/// or 0 if a is 0.
Value pow(const Operand& a, const Operand& b);
/// The larger (smaller) of each pair; 0 is larger than -0. NaN if either is NaN. If both are equal, the gradient goes
/// to a.
Value maximum(const Operand& a, const Operand& b);
Value minimum(const Operand& a, const Operand& b);
/// The remainder of a / b with the quotient rounded down: it has b's sign, like Python's %. For integers, b = 0 is an
/// error at run time. The gradient ignores the jumps.
Value mod(const Operand& a, const Operand& b);
/// The remainder of a / b with the quotient rounded toward zero: it has a's sign, like C's fmod. b = 0 and the gradient
/// are as for mod().
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
Value clip(const Value& x, const Operand& low, const Operand& high);

/// The functions below take floating-point values. The exceptions are abs, sign and square, which take numbers of any
/// dtype, and relu, which takes signed numbers.
Value abs(const Value& x, source_location at = source_location::current());
/// -1, 0 or 1.
Value sign(const Value& x, source_location at = source_location::current());
Value square(const Value& x, source_location at = source_location::current());
Value exp(const Value& x, source_location at = source_location::current());
/// Natural logarithm.
Value log(const Value& x, source_location at = source_location::current());
Value sqrt(const Value& x, source_location at = source_location::current());
/// 1 / sqrt(x).
Value rsqrt(const Value& x, source_location at = source_location::current());
Value tanh(const Value& x, source_location at = source_location::current());
/// 1 / (1 + exp(-x)).
Value sigmoid(const Value& x, source_location at = source_location::current());
/// max(x, 0). Its gradient at 0 is 0.
Value relu(const Value& x, source_location at = source_location::current());
/// 1 / x.
Value reciprocal(const Value& x, source_location at = source_location::current());
/// The largest integer not above x (floor), the smallest integer not below x (ceil), or the integer nearest to x
/// (round); halves are rounded to the even integer.
Value floor(const Value& x, source_location at = source_location::current());
Value ceil(const Value& x, source_location at = source_location::current());
Value round(const Value& x, source_location at = source_location::current());
/// The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x.
Value erf(const Value& x, source_location at = source_location::current());

/// The ops: Add, Sub, Mul, Div, Neg, Pow, Maximum, Minimum, Abs, Sign, Square, Exp, Log, Sqrt, Rsqrt, Tanh, Sigmoid,
/// Relu, ReluGrad(dy, y) = y > 0 ? dy : 0, Erf, Mod, Fmod, Floor, Ceil, Round.
[[nodiscard]] std::span<const OpDef* const> math_ops();

}  // namespace ferry
#pragma GCC visibility pop
