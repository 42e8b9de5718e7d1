// Trigonometric and hyperbolic functions and their inverses, elementwise on floating-point values. Angles are in
// radians. Outside a function's domain, the result is NaN.
//
// Errors: Error(plan) with the caller's line when the dtype does not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

Value sin(const Value& x, source_location at = source_location::current());
Value cos(const Value& x, source_location at = source_location::current());
Value tan(const Value& x, source_location at = source_location::current());
/// The arc sine, in [-pi/2, pi/2].
Value asin(const Value& x, source_location at = source_location::current());
/// The arc cosine, in [0, pi].
Value acos(const Value& x, source_location at = source_location::current());
/// The arc tangent, in (-pi/2, pi/2).
Value atan(const Value& x, source_location at = source_location::current());

Value sinh(const Value& x, source_location at = source_location::current());
Value cosh(const Value& x, source_location at = source_location::current());
Value asinh(const Value& x, source_location at = source_location::current());
/// The inverse hyperbolic cosine of x >= 1.
Value acosh(const Value& x, source_location at = source_location::current());
/// The inverse hyperbolic tangent of x in [-1, 1], infinite at the ends.
Value atanh(const Value& x, source_location at = source_location::current());

/// The ops: Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh.
[[nodiscard]] std::span<const OpDef* const> trig_ops();

}  // namespace ferry
#pragma GCC visibility pop
