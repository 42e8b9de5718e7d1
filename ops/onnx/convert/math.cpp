// Elementwise ops.
#include "ops/math/math.hpp"

#include <cmath>
#include <limits>

#include "graph/op/core_ops.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/bits.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/trig.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

using Unary = Value (*)(const Value&, source_location);
using Binary = Value (*)(const Operand&, const Operand&);

template <Unary f>
Outs unary(Context& c) {
  return f(c.in(0), source_location::current());
}

/// The second operand. Before operator set 7, the attributes `broadcast` and `axis` say how it is broadcast.
Value second_operand(Context& c, const Value& a) {
  const Value b = c.in(1);
  if (c.opset() >= 7) return b;
  const int axis = c.has_attr("axis") ? c.axis(0, c.integer("axis", 0)) : a.rank() - b.rank();
  if (c.integer("broadcast", 0) == 0) return b;
  Ints behind;
  for (int d = axis + b.rank(); d < a.rank(); ++d) behind.push_back(d - axis);
  return behind.empty() ? b : expand_dims(b, behind);
}

template <Binary f>
Outs binary(Context& c) {
  const Value a = c.in(0);
  const Value b = second_operand(c, a);
  return f(a, b);
}

/// Folds all inputs: f(f(a, b), c) ….
template <Binary f>
Value fold_inputs(Context& c) {
  if (c.inputs() == 0) Context::fail("it has no inputs");
  Value result = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) result = f(result, c.in(i));
  return c.inputs() == 1 ? identity(result) : result;
}

template <Binary f>
Outs variadic(Context& c) {
  return fold_inputs<f>(c);
}

// ---- Activations that exporters write as several nodes ----

/// The value that enters the chain of Identity ops that ends with x.
Value skip_identities(Value x) {
  while (x.op().def().name == "Identity") x = Value(&x.graph(), x.op().inputs()[0]);
  return x;
}

bool is_number(const Value& x, double number) {
  const Op op = skip_identities(x).op();
  if (op.def().name != kConstant.name) return false;
  const auto& known = op.attrs().get<Tensor>("value");
  return known.count() == 1 && known.rank() <= 1 && known.number(0) == number;
}

/// If `result` is the output of an op `name`, and is_one() holds for one of its two inputs: the other input. Else an
/// undefined value.
template <class Is>
Value other_input(const Is& is_one, std::string_view name, const Value& result) {
  const Value from = skip_identities(result);
  if (from.op().def().name != name) return {};
  const Value a(&from.graph(), from.op().inputs()[0]), b(&from.graph(), from.op().inputs()[1]);
  return is_one(b) ? a : is_one(a) ? b : Value();
}

/// The x for which the value is x + 3, clipped to [0, 6]; undefined if there is none.
Value hard_swish_gate_of(const Value& value) {
  Value x = value;
  for (const auto& [name, number] : {std::pair("Minimum", 6), {"Maximum", 0}, {"Add", 3}})
    if (x.defined()) x = other_input([n = number](const Value& other) { return is_number(other, n); }, name, x);
  return x;
}

bool is_plain(const Value& x) {
  return (x.dtype() == DType::float32 || x.dtype() == DType::float64) && x.rank() > 0;
}

/// x sigmoid(x) is swish(x).
Outs to_mul(Context& c) {
  const Value a = c.in(0);
  const Value b = second_operand(c, a);
  const auto is_gate = [](const Value& x, const Value& gate) {
    const Op op = skip_identities(gate).op();
    return op.def().name == "Sigmoid" && Value(&x.graph(), op.inputs()[0]).is(x);
  };
  if (is_plain(a) && is_gate(a, b)) return swish(a);
  if (is_plain(b) && is_gate(b, a)) return swish(b);
  return a * b;
}

/// x clip(x + 3, 0, 6) / 6 is hard_swish(x).
Outs to_div(Context& c) {
  const Value a = c.in(0);
  const Value b = second_operand(c, a);
  if (!is_plain(a) || !is_number(b, 6)) return a / b;
  Value x;
  const Value other =
      other_input([&](const Value& gate) { return (x = hard_swish_gate_of(gate)).defined(); }, "Mul", a);
  return other.defined() && other.is(x) ? hard_swish(x) : a / b;
}

Outs to_mean(Context& c) {
  const Value sum = fold_inputs<add>(c);
  return sum / c.inputs();
}

/// The exponent may have another dtype. An integer to a floating-point power is computed in float64.
Outs to_pow(Context& c) {
  const Value a = c.in(0);
  const DType dtype = a.dtype();
  const Value b = second_operand(c, a);
  const bool through_floats = !is_float(dtype) && is_float(b.dtype());
  const DType within = through_floats ? DType::float64 : dtype;
  const Value base = cast(a, within);
  const Value exponent = cast(b, within);
  return cast(pow(base, exponent), dtype);
}

/// Mod: with the attribute fmod the result has the dividend's sign, else the divisor's.
Outs to_mod(Context& c) {
  const Value a = c.in(0);
  const Value b = c.in(1);
  return c.integer("fmod", 0) != 0 ? fmod(a, b) : mod(a, b);
}

Outs to_bit_shift(Context& c) {
  const Value a = c.in(0);
  const Value b = c.in(1);
  return c.text("direction") == "LEFT" ? shift_left(a, b) : shift_right(a, b);
}

/// Clip before operator set 11. Its bounds are attributes; by default they are the finite range of float32.
Outs to_old_clip(Context& c) {
  constexpr double kMost = std::numeric_limits<float>::max();
  Value x = c.in(0);
  const double min = c.real("min", -kMost), max = c.real("max", kMost);
  const bool wide = x.dtype() == DType::float32 || x.dtype() == DType::float64;  // others have no number beyond kMost
  if (wide || min > -kMost) x = maximum(x, min);
  if (wide || max < kMost) x = minimum(x, max);
  return identity(x);
}

Outs to_clip(Context& c) {
  if (c.opset() < 11) return to_old_clip(c);
  Value x = c.in(0);
  if (c.has(1)) x = maximum(x, c.in(1));
  if (c.has(2)) x = minimum(x, c.in(2));
  return identity(x);
}

// ---- Activations ----

/// Binarizer: 1 where x is greater than the threshold, else 0. Integers are compared with the threshold rounded down.
Outs to_binarizer(Context& c) {
  const Value x = c.in(0);
  const double threshold = c.real("threshold", 0);
  return cast(greater(x, c.scalar(is_float(x.dtype()) ? threshold : std::floor(threshold), x.dtype())), x.dtype());
}

Outs to_leaky_relu(Context& c) {
  return leaky_relu(c.in(0), c.real("alpha", 0.01));
}

/// PRelu: the slopes are broadcast. Before operator set 9, a vector has one slope for each channel (dim 1).
Outs to_prelu(Context& c) {
  const Value x = c.in(0);
  Value slope = c.in(1);
  if (c.opset() < 9 && slope.rank() == 1 && x.rank() > 2) {
    Ints behind;
    for (int d = 2; d < x.rank(); ++d) behind.push_back(d - 1);
    slope = expand_dims(slope, behind);
  }
  return prelu(x, slope);
}

Outs to_elu(Context& c) {
  return elu(c.in(0), c.real("alpha", 1));
}
Outs to_celu(Context& c) {
  return celu(c.in(0), c.real("alpha", 1));
}
Outs to_selu(Context& c) {
  return selu(c.in(0), c.real("alpha", 1.67326319217681884765625), c.real("gamma", 1.05070102214813232421875));
}
Outs to_hard_sigmoid(Context& c) {
  return hard_sigmoid(c.in(0), c.real("alpha", 0.2), c.real("beta", 0.5));
}
Outs to_swish(Context& c) {
  return swish(c.in(0), c.real("alpha", 1));
}
Outs to_thresholded_relu(Context& c) {
  return thresholded_relu(c.in(0), c.real("alpha", 1));
}

/// Shrink, which takes integers, too.
Outs to_shrink(Context& c) {
  const DType dtype = c.type(0).dtype;
  const Value x = is_float(dtype) ? c.in(0) : cast(c.in(0), DType::float32);
  return cast(shrink(x, c.real("lambd", 0.5), c.real("bias", 0)), dtype);
}

Outs to_gelu(Context& c) {
  return c.text("approximate", "none") == "tanh" ? gelu_tanh(c.in(0)) : gelu(c.in(0));
}

// ---- Comparison, logic, conversion ----

Outs to_xor(Context& c) {
  const Value a = c.in(0);
  return not_equal(a, second_operand(c, a));
}

Outs to_is_nan(Context& c) {
  const Value x = c.in(0);
  return not_equal(x, x);
}

Outs to_is_inf(Context& c) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool above = c.integer("detect_positive", 1) != 0, below = c.integer("detect_negative", 1) != 0;
  const Value x = c.in(0);
  if (above && below) return equal(abs(x), kInf);
  if (!above && !below) return less(abs(x), 0);
  return equal(x, above ? kInf : -kInf);
}

Outs to_where(Context& c) {
  const Value condition = c.in(0);
  const Value a = c.in(1);
  const Value b = c.in(2);
  return select(condition, a, b);
}

Outs to_cast(Context& c) {
  if (c.opset() >= 19) c.no_effect({"saturate", "round_mode"});  // they only concern float8
  const DType to = c.dtype("to");
  const Out x = c.out(0);
  return x.perm.empty() ? Outs(cast(c.in(0), to)) : Outs(arranged(cast(x.value, to), x.perm));
}
Outs to_cast_like(Context& c) {
  if (c.opset() >= 19) c.no_effect({"saturate", "round_mode"});
  return cast(c.in(0), c.type(1).dtype);
}

Outs to_bit_cast(Context& c) {
  const DType to = c.dtype("to");
  const Value x = c.in(0);
  if (to == DType::boolean && size_of(x.dtype()) == 1) return cast(x, to);  // a bool must be 0 or 1
  return bit_cast(x, to);
}

constexpr ConvertOp kMath[] = {
    {"ai.onnx.ml.Binarizer", 1, to_binarizer},
    {"Abs", 1, unary<abs>},
    {"Acos", 7, unary<acos>},
    {"Acosh", 9, unary<acosh>},
    {"Add", 1, binary<add>},
    {"And", 1, binary<logical_and>},
    {"Asin", 7, unary<asin>},
    {"Asinh", 9, unary<asinh>},
    {"Atan", 7, unary<atan>},
    {"Atanh", 9, unary<atanh>},
    {"BitShift", 11, to_bit_shift},
    {"BitCast", 26, to_bit_cast},
    {"BitwiseAnd", 18, binary<bit_and>},
    {"BitwiseNot", 18, unary<bit_not>},
    {"BitwiseOr", 18, binary<bit_or>},
    {"BitwiseXor", 18, binary<bit_xor>},
    {"Cast", 6, to_cast},
    {"CastLike", 15, to_cast_like, 0b10},
    {"Ceil", 1, unary<ceil>},
    {"Celu", 12, to_celu},
    {"Clip", 6, to_clip},
    {"Cos", 7, unary<cos>},
    {"Cosh", 9, unary<cosh>},
    {"Div", 1, to_div},
    {"Elu", 1, to_elu},
    {"Equal", 1, binary<equal>},
    {"Erf", 9, unary<erf>},
    {"Exp", 1, unary<exp>},
    {"Floor", 1, unary<floor>},
    {"Gelu", 20, to_gelu},
    {"Greater", 1, binary<greater>},
    {"GreaterOrEqual", 12, binary<greater_equal>},
    {"HardSigmoid", 1, to_hard_sigmoid},
    {"HardSwish", 14, unary<hard_swish>},
    {"IsInf", 10, to_is_inf},
    {"IsNaN", 9, to_is_nan},
    {"LeakyRelu", 1, to_leaky_relu},
    {"Less", 1, binary<less>},
    {"LessOrEqual", 12, binary<less_equal>},
    {"Log", 1, unary<log>},
    {"Max", 1, variadic<maximum>},
    {"Mean", 1, to_mean},
    {"Min", 1, variadic<minimum>},
    {"Mish", 18, unary<mish>},
    {"Mod", 10, to_mod},
    {"Mul", 1, to_mul},
    {"Neg", 1, [](Context& c) -> Outs { return neg(c.in(0)); }},
    {"Not", 1, unary<logical_not>},
    {"Or", 1, binary<logical_or>},
    {"PRelu", 1, to_prelu},
    {"Pow", 1, to_pow},
    {"Reciprocal", 1, unary<reciprocal>},
    {"Relu", 1, unary<relu>},
    {"Round", 11, unary<round>},
    {"Selu", 1, to_selu},
    {"Shrink", 9, to_shrink},
    {"Sigmoid", 1, unary<sigmoid>},
    {"Sign", 9, unary<sign>},
    {"Sin", 7, unary<sin>},
    {"Sinh", 9, unary<sinh>},
    {"Softplus", 1, unary<softplus>},
    {"Softsign", 1, unary<softsign>},
    {"Sqrt", 1, unary<sqrt>},
    {"Sub", 1, binary<sub>},
    {"Sum", 1, variadic<add>},
    {"Swish", 24, to_swish},
    {"Tan", 7, unary<tan>},
    {"Tanh", 1, unary<tanh>},
    {"ThresholdedRelu", 10, to_thresholded_relu},
    {"Where", 9, to_where},
    {"Xor", 1, to_xor},
};

}  // namespace

std::span<const ConvertOp> math_converters() {
  return kMath;
}

}  // namespace ferry::onnx
