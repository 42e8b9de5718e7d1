// Activation functions of neural networks, most of them built from ops of math.hpp, logic.hpp and trig.hpp. They are
// elementwise on floating-point values; tanh, sigmoid, relu and erf are in math.hpp. Values of 16 bits are rounded only
// once, at the end. At a kink, the gradient is one of the two one-sided derivatives.
//
// Errors: Error(plan) with the caller's line when dtypes or shapes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// x Phi(x), with the cumulative normal distribution Phi(x) = (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel, 2016).
///
///     gelu(g.constant({-1.0, 0.0, 2.0}));  // [-0.158655 0 1.9545]
Value gelu(const Value& x, source_location at = source_location::current());

/// The approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) of gelu().
///
///     gelu_tanh(g.constant({-1.0, 0.0, 2.0}));  // [-0.158808 0 1.9546]
Value gelu_tanh(const Value& x, source_location at = source_location::current());

/// x if x > 0, else alpha (exp(x) - 1).
///
///     elu(g.constant({-1.0, 0.0, 2.0}));  // [-0.632121 0 2]
Value elu(const Value& x, double alpha = 1, source_location at = source_location::current());

/// x if x > 0, else alpha (exp(x / alpha) - 1). alpha is not 0.
///
///     celu(g.constant({-1.0, 0.0, 2.0}), 2);  // [-0.786939 0 2]
Value celu(const Value& x, double alpha = 1, source_location at = source_location::current());

/// gamma elu(x, alpha). The default numbers are from self-normalizing networks (Klambauer et al., 2017).
///
///     selu(g.constant({-1.0, 0.0, 2.0}));  // [-1.11133 0 2.1014]
Value selu(const Value& x, double alpha = 1.67326319217681884765625, double gamma = 1.05070102214813232421875,
           source_location at = source_location::current());

/// x if x >= 0, else slope x.
///
///     leaky_relu(g.constant({-1.0, 0.0, 2.0}));  // [-0.01 0 2]
Value leaky_relu(const Value& x, double slope = 0.01, source_location at = source_location::current());

/// leaky_relu() with a value of slopes, usually learned, which is broadcast to x.
///
///     prelu(g.constant({-2.0, 3.0}), g.constant({0.1, 0.5}));  // [-0.2 3]
Value prelu(const Value& x, const Value& slope, source_location at = source_location::current());

/// x if x > threshold, else 0.
///
///     thresholded_relu(g.constant({-1.0, 0.5, 2.0}));  // [0 0 2]
Value thresholded_relu(const Value& x, double threshold = 1, source_location at = source_location::current());

/// log(1 + exp(x)), without overflow.
///
///     softplus(g.constant({-1.0, 0.0, 2.0}));  // [0.313262 0.693147 2.12693]
Value softplus(const Value& x, source_location at = source_location::current());

/// x / (1 + |x|).
///
///     softsign(g.constant({-1.0, 0.0, 3.0}));  // [-0.5 0 0.75]
Value softsign(const Value& x, source_location at = source_location::current());

/// x sigmoid(beta x); also called SiLU.
///
///     swish(g.constant({-1.0, 0.0, 2.0}));  // [-0.268941 0 1.76159]
Value swish(const Value& x, double beta = 1, source_location at = source_location::current());

/// x tanh(softplus(x)).
///
///     mish(g.constant({-1.0, 0.0, 2.0}));  // [-0.303401 0 1.94396]
Value mish(const Value& x, source_location at = source_location::current());

/// alpha x + beta, clipped to [0, 1].
///
///     hard_sigmoid(g.constant({-1.0, 0.0, 9.0}));  // [0.3 0.5 1]
Value hard_sigmoid(const Value& x, double alpha = 0.2, double beta = 0.5,
                   source_location at = source_location::current());

/// x hard_sigmoid(x, 1/6, 1/2).
///
///     hard_swish(g.constant({-1.0, 0.0, 9.0}));  // [-0.333333 0 9]
Value hard_swish(const Value& x, source_location at = source_location::current());

/// x - bias if x > lambda, x + bias if x < -lambda, else 0. Soft shrinkage has bias = lambda, hard shrinkage bias = 0.
///
///     shrink(g.constant({-1.0, 0.25, 2.0}), 0.5, 0.5);  // [-0.5 0 1.5]
Value shrink(const Value& x, double lambda = 0.5, double bias = 0, source_location at = source_location::current());

/// The ops: Swish(x) = x sigmoid(x), HardSwish, LeakyRelu, Elu, and Selu with the default numbers.
[[nodiscard]] std::span<const OpDef* const> activation_ops();

}  // namespace ferry
#pragma GCC visibility pop
