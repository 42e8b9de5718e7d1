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

/// The sine.
///
///     sin(g.constant({0.0, 1.0}));  // [0 0.841471]
Value sin(const Value& x, source_location at = source_location::current());

/// The cosine.
///
///     cos(g.constant({0.0, 1.0}));  // [1 0.540302]
Value cos(const Value& x, source_location at = source_location::current());

/// The tangent.
///
///     tan(g.constant({0.0, 1.0}));  // [0 1.55741]
Value tan(const Value& x, source_location at = source_location::current());

/// The arc sine, in [-pi/2, pi/2].
///
///     asin(g.constant({0.0, 1.0}));  // [0 1.5708]
Value asin(const Value& x, source_location at = source_location::current());

/// The arc cosine, in [0, pi].
///
///     acos(g.constant({0.0, 1.0}));  // [1.5708 0]
Value acos(const Value& x, source_location at = source_location::current());

/// The arc tangent, in (-pi/2, pi/2).
///
///     atan(g.constant({0.0, 1.0}));  // [0 0.785398]
Value atan(const Value& x, source_location at = source_location::current());

/// The hyperbolic sine.
///
///     sinh(g.constant({0.0, 1.0}));  // [0 1.1752]
Value sinh(const Value& x, source_location at = source_location::current());

/// The hyperbolic cosine.
///
///     cosh(g.constant({0.0, 1.0}));  // [1 1.54308]
Value cosh(const Value& x, source_location at = source_location::current());

/// The inverse hyperbolic sine.
///
///     asinh(g.constant({0.0, 1.0}));  // [0 0.881374]
Value asinh(const Value& x, source_location at = source_location::current());

/// The inverse hyperbolic cosine of x >= 1.
///
///     acosh(g.constant({1.0, 2.0}));  // [0 1.31696]
Value acosh(const Value& x, source_location at = source_location::current());

/// The inverse hyperbolic tangent of x in [-1, 1], infinite at the ends.
///
///     atanh(g.constant({0.0, 0.5}));  // [0 0.549306]
Value atanh(const Value& x, source_location at = source_location::current());

/// The ops: Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh.
[[nodiscard]] std::span<const OpDef* const> trig_ops();

}  // namespace ferry
#pragma GCC visibility pop
