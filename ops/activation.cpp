#include "ops/activation.hpp"

#include "ops/build.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"

namespace ferry {
namespace {

/// exp(x) - 1 where x < 0, else 0: of a large x too, so that no gradient is infinite.
Value exp_below(const Value& x) {
  return exp(minimum(0, x)) - 1;
}

Scope scope_of(const Value& x, const SourceLine& line) {
  return derived(graph_of({{x}}, line), line);
}

}  // namespace

Value gelu(const Value& x, source_location at) {
  const Scope here = scope_of(x, at);
  const Value twice = erf(x * 0.70710678118654752440) + 1;
  return x * 0.5 * twice;
}

Value gelu_tanh(const Value& x, source_location at) {
  const Scope here = scope_of(x, at);
  const Value inner = x + square(x) * x * 0.044715;
  const Value twice = tanh(inner * 0.79788456080286535588) + 1;
  return x * 0.5 * twice;
}

Value elu(const Value& x, double alpha, source_location at) {
  const Scope here = scope_of(x, at);
  const Value above = greater(x, 0);
  return select(above, x, exp_below(x) * alpha);
}

Value celu(const Value& x, double alpha, source_location at) {
  const Scope here = scope_of(x, at);
  const Value above = greater(x, 0);
  return select(above, x, exp_below(x / alpha) * alpha);
}

Value selu(const Value& x, double alpha, double gamma, source_location at) {
  const Scope here = scope_of(x, at);
  return elu(x, alpha) * gamma;
}

Value leaky_relu(const Value& x, double slope, source_location at) {
  const Scope here = scope_of(x, at);
  const Value below = less(x, 0);
  return select(below, x * slope, x);
}

Value prelu(const Value& x, const Value& slope, source_location at) {
  const Scope here = scope_of(x, at);
  const Value below = less(x, 0);
  return select(below, x * slope, x);
}

Value thresholded_relu(const Value& x, double threshold, source_location at) {
  const Scope here = scope_of(x, at);
  return select(greater(x, threshold), x, 0);
}

Value softplus(const Value& x, source_location at) {
  const Scope here = scope_of(x, at);
  const Value size = minimum(x, -x);  // -|x|, with the gradient 1 at 0, where relu has none
  const Value rest = log(exp(size) + 1);
  return relu(x) + rest;
}

Value softsign(const Value& x, source_location at) {
  const Scope here = scope_of(x, at);
  return x / (abs(x) + 1);
}

Value swish(const Value& x, double beta, source_location at) {
  const Scope here = scope_of(x, at);
  return x * sigmoid(beta == 1 ? x : x * beta);
}

Value mish(const Value& x, source_location at) {
  const Scope here = scope_of(x, at);
  return x * tanh(softplus(x));
}

Value hard_sigmoid(const Value& x, double alpha, double beta, source_location at) {
  const Scope here = scope_of(x, at);
  return clip(x * alpha + beta, 0, 1);
}

Value hard_swish(const Value& x, source_location at) {
  const Scope here = scope_of(x, at);
  return x * hard_sigmoid(x, 1.0 / 6, 0.5);
}

Value shrink(const Value& x, double lambda, double bias, source_location at) {
  const Scope here = scope_of(x, at);
  const Value above = select(greater(x, lambda), x - bias, 0);
  return select(less(x, -lambda), x + bias, above);
}

}  // namespace ferry
