// Elementwise arithmetic and functions. Operands are broadcast and cast to one dtype as numpy does; a number takes the
// dtype of the other operand (docs/reference/dtypes.md). The result has that dtype. Integers wrap around.
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
/// a / b. For integers it is rounded toward zero, and division by zero is an error at run time.
Value div(const Operand& a, const Operand& b);
Value neg(const Operand& x);
/// a to the power of b. Integers wrap around; with a negative b they give 1 / a^-b rounded toward zero, or 0 if a is 0.
Value pow(const Operand& a, const Operand& b);
/// The larger (smaller) of each pair; 0 is larger than -0. NaN when either is NaN. The gradient goes to a where both
/// are equal.
Value maximum(const Operand& a, const Operand& b);
Value minimum(const Operand& a, const Operand& b);
/// The remainder of a / b with the quotient rounded down: it has b's sign, as Python's %. For integers b = 0 is an
/// error at run time. The gradient ignores the jumps.
Value mod(const Operand& a, const Operand& b);
/// The remainder of a / b with the quotient rounded toward zero: it has a's sign, as C's fmod. The rest is as for
/// mod().
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

/// The functions below take floating-point values, except for abs, sign and square, which take numbers of any dtype,
/// and relu, which takes signed ones.
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
/// The integer at or below x, at or above x, and nearest to x, where halves go to the even integer.
Value floor(const Value& x, source_location at = source_location::current());
Value ceil(const Value& x, source_location at = source_location::current());
Value round(const Value& x, source_location at = source_location::current());
/// The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x.
Value erf(const Value& x, source_location at = source_location::current());

/// Add, Sub, Mul, Div, Neg, Pow, Maximum, Minimum, Abs, Sign, Square, Exp, Log, Sqrt, Rsqrt, Tanh, Sigmoid, Relu,
/// ReluGrad(dy, y) = y > 0 ? dy : 0, Erf, Mod, Fmod, Floor, Ceil, Round.
[[nodiscard]] std::span<const OpDef* const> math_ops();

}  // namespace ferry
#pragma GCC visibility pop
