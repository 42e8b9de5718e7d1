// Elementwise ops.
#include "ops/math.hpp"

#include <limits>

#include "ops/logic.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/reshape.hpp"

namespace ferry::onnx {
namespace {

using Unary = Value (*)(const Value&, source_location);
using Binary = Value (*)(const Operand&, const Operand&);

template <Unary f>
Outs unary(Context& c) {
  return f(c.in(0), source_location::current());
}

/// Before operator set 7 the second operand was spread by attributes.
Value second(Context& c, const Value& a) {
  const Value b = c.in(1);
  if (c.opset() >= 7 || c.integer("broadcast", 0) == 0) return b;
  const int axis = c.has_attr("axis") ? c.axis(0, c.integer("axis", 0)) : a.rank() - b.rank();
  Ints behind;
  for (int d = axis + b.rank(); d < a.rank(); ++d) behind.push_back(d - axis);
  return behind.empty() ? b : expand_dims(b, behind);
}

template <Binary f>
Outs binary(Context& c) {
  const Value a = c.in(0);
  const Value b = second(c, a);
  return f(a, b);
}

/// f(f(a, b), c) ….
template <Binary f>
Value joined(Context& c) {
  if (c.inputs() == 0) Context::fail("it has no inputs");
  Value result = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) result = f(result, c.in(i));
  return c.inputs() == 1 ? identity(result) : result;
}

template <Binary f>
Outs variadic(Context& c) {
  return joined<f>(c);
}

Outs to_mean(Context& c) {
  const Value sum = joined<add>(c);
  return sum / c.inputs();
}

/// Of integers by way of float64, which is exact below 2^53.
Outs to_pow(Context& c) {
  const Value a = c.in(0);
  const DType dtype = a.dtype();
  const DType within = is_float(dtype) ? dtype : DType::float64;
  const Value base = cast(a, within);
  const Value exponent = cast(second(c, a), within);
  return cast(pow(base, exponent), dtype);
}

Outs to_reciprocal(Context& c) {
  return 1 / c.in(0);
}

/// Bounds were attributes before operator set 11.
Outs to_clip(Context& c) {
  Value x = c.in(0);
  if (c.opset() < 11) {
    if (c.has_attr("min")) x = maximum(x, c.real("min"));
    if (c.has_attr("max")) x = minimum(x, c.real("max"));
    return identity(x);
  }
  if (c.has(1)) x = maximum(x, c.in(1));
  if (c.has(2)) x = minimum(x, c.in(2));
  return identity(x);
}

// ---- Activations. Where x is kept, the other branch may overflow, and is not taken. ----

Outs to_leaky_relu(Context& c) {
  const Value x = c.in(0);
  const Value below = x * c.real("alpha", 0.01);
  return select(less(x, 0), below, x);
}

Outs to_prelu(Context& c) {
  const Value x = c.in(0);
  const Value below = x * second(c, x);
  return select(less(x, 0), below, x);
}

/// scale * (x > 0 ? x : alpha * (exp(x / divisor) - 1)).
Value elu_like(const Value& x, double alpha, double scale, double divisor) {
  const Value low = minimum(x, 0);
  const Value grown = exp(divisor == 1 ? low : low / divisor) - 1;
  const Value chosen = select(greater(x, 0), x, grown * alpha);
  return scale == 1 ? chosen : chosen * scale;
}

Outs to_elu(Context& c) {
  return elu_like(c.in(0), c.real("alpha", 1), 1, 1);
}
Outs to_celu(Context& c) {
  const double alpha = c.real("alpha", 1);
  return elu_like(c.in(0), alpha, 1, alpha);
}
Outs to_selu(Context& c) {
  return elu_like(c.in(0), c.real("alpha", 1.67326319217681884765625), c.real("gamma", 1.05070102214813232421875), 1);
}

Value hard_sigmoid(const Value& x, double alpha, double beta) {
  return maximum(minimum(x * alpha + beta, 1), 0);
}
Outs to_hard_sigmoid(Context& c) {
  return hard_sigmoid(c.in(0), c.real("alpha", 0.2), c.real("beta", 0.5));
}
Outs to_hard_swish(Context& c) {
  const Value x = c.in(0);
  const Value gate = hard_sigmoid(x, 1.0 / 6, 0.5);
  return x * gate;
}

Outs to_thresholded_relu(Context& c) {
  const Value x = c.in(0);
  return select(greater(x, c.real("alpha", 1)), x, 0);
}

/// log(1 + exp(x)), as max(x, 0) + log(1 + exp(-|x|)).
Value softplus(const Value& x) {
  const Value tail = log(exp(-abs(x)) + 1);
  return maximum(x, 0) + tail;
}
Outs to_softplus(Context& c) {
  return softplus(c.in(0));
}
Outs to_mish(Context& c) {
  const Value x = c.in(0);
  return x * tanh(softplus(x));
}

Outs to_softsign(Context& c) {
  const Value x = c.in(0);
  const Value size = abs(x) + 1;
  return x / size;
}

/// x < -lambd: x + bias; x > lambd: x - bias; else 0. Of integers too.
Outs to_shrink(Context& c) {
  const DType dtype = c.type(0).dtype;
  const Value x = is_float(dtype) ? c.in(0) : cast(c.in(0), DType::float32);
  const double bias = c.real("bias", 0), lambd = c.real("lambd", 0.5);
  const Value above = x - bias;
  const Value below = x + bias;
  const Value high = select(greater(x, lambd), above, 0);
  return cast(select(less(x, -lambd), below, high), dtype);
}

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;

Outs to_gelu(Context& c) {
  const Value x = c.in(0);
  if (c.text("approximate", "none") == "tanh") {
    const Value cubed = x * square(x) * 0.044715;
    const Value inner = (x + cubed) * kSqrtTwoOverPi;
    const Value gate = tanh(inner) + 1;
    return x * 0.5 * gate;
  }
  const Value gate = erf(x * kSqrtHalf) + 1;
  return x * 0.5 * gate;
}

// ---- Comparison, logic, conversion ----

Outs to_xor(Context& c) {
  const Value a = c.in(0);
  return not_equal(a, second(c, a));
}

Outs to_where(Context& c) {
  const Value condition = c.in(0);
  const Value a = c.in(1);
  const Value b = c.in(2);
  return select(condition, a, b);
}

Outs to_cast(Context& c) {
  return cast(c.in(0), c.dtype("to"));
}
Outs to_cast_like(Context& c) {
  return cast(c.in(0), c.type(1).dtype);
}

constexpr Converter kMath[] = {
    {"Abs", 1, unary<abs>},
    {"Add", 1, binary<add>},
    {"And", 1, binary<logical_and>},
    {"Cast", 6, to_cast},
    {"CastLike", 15, to_cast_like},
    {"Celu", 12, to_celu},
    {"Clip", 6, to_clip},
    {"Div", 1, binary<div>},
    {"Elu", 1, to_elu},
    {"Equal", 1, binary<equal>},
    {"Erf", 9, unary<erf>},
    {"Exp", 1, unary<exp>},
    {"Gelu", 20, to_gelu},
    {"Greater", 1, binary<greater>},
    {"GreaterOrEqual", 12, binary<greater_equal>},
    {"HardSigmoid", 1, to_hard_sigmoid},
    {"HardSwish", 14, to_hard_swish},
    {"LeakyRelu", 1, to_leaky_relu},
    {"Less", 1, binary<less>},
    {"LessOrEqual", 12, binary<less_equal>},
    {"Log", 1, unary<log>},
    {"Max", 1, variadic<maximum>},
    {"Mean", 1, to_mean},
    {"Min", 1, variadic<minimum>},
    {"Mish", 18, to_mish},
    {"Mul", 1, binary<mul>},
    {"Neg", 1, [](Context& c) -> Outs { return neg(c.in(0)); }},
    {"Not", 1, unary<logical_not>},
    {"Or", 1, binary<logical_or>},
    {"PRelu", 1, to_prelu},
    {"Pow", 1, to_pow},
    {"Reciprocal", 1, to_reciprocal},
    {"Relu", 1, unary<relu>},
    {"Selu", 1, to_selu},
    {"Shrink", 9, to_shrink},
    {"Sigmoid", 1, unary<sigmoid>},
    {"Sign", 9, unary<sign>},
    {"Softplus", 1, to_softplus},
    {"Softsign", 1, to_softsign},
    {"Sqrt", 1, unary<sqrt>},
    {"Sub", 1, binary<sub>},
    {"Sum", 1, variadic<add>},
    {"Tanh", 1, unary<tanh>},
    {"ThresholdedRelu", 10, to_thresholded_relu},
    {"Where", 9, to_where},
    {"Xor", 1, to_xor},
};

}  // namespace

std::span<const Converter> math_converters() {
  return kMath;
}

}  // namespace ferry::onnx
