#include "ops/math/activation.hpp"

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/trig.hpp"

namespace ferry {
namespace {

/// f(x) for the function `what`, computed in float32 if x has 16 bits.
template <class F>
Value activated(std::string_view what, const Value& x, const SourceLine& line, const F& f) {
  const Scope here = caller_scope(graph_of({{x}}, line), line);
  require_float(what, x, line);
  return in_float32({x}, line, [&](const Values& v) { return f(v[0]); });
}

/// exp(x) - 1 if x < 0, else 0. The argument of exp() is never positive, so that no gradient becomes infinite; the
/// gradient at 0 is 1. It is computed as tanh(x/2) (exp(x) + 1), which has no cancellation near 0.
Value exp_below(const Value& x) {
  const Value below = minimum(x, 0);
  const Value sum = exp(below) + 1;
  return tanh(below * 0.5) * sum;
}

constexpr OpDef kSwish{
    .name = "Swish", .types = "T->T", .T = kFloats, .index = "...->...", .flops = 21, .grad = [](GradCtx& g) {
      const Value gate = sigmoid(g.in());
      const Value through = g.dout() * gate;
      const Value slope = gate * (1 - gate);
      return Values{through + g.dout() * g.in() * slope};
    }};

constexpr OpDef kHardSwish{
    .name = "HardSwish", .types = "T->T", .T = kFloats, .index = "...->...", .flops = 5, .grad = [](GradCtx& g) {
      const Value inside = g.in() * (1.0 / 3) + 0.5;
      const Value above = select(greater(g.in(), 3), 1, inside);
      return Values{g.dout() * select(less(g.in(), -3), 0, above)};
    }};

constexpr OpDef kLeakyRelu{.name = "LeakyRelu",
                           .types = "T,T->T",
                           .index = "...,...->...",
                           .flops = 2,
                           .flags = kExact,
                           .grad = [](GradCtx& g) {
                             const Value below = less(g.in(0), 0);
                             const Value through =
                                 g.want(0, [&] { return select(below, g.dout() * g.in(1), g.dout()); });
                             return Values{through, g.want(1, [&] { return select(below, g.dout() * g.in(0), 0); })};
                           }};

constexpr OpDef kElu{
    .name = "Elu", .types = "T,T->T", .T = kFloats, .index = "...,...->...", .flops = 42, .grad = [](GradCtx& g) {
      const Value above = greater(g.in(0), 0);
      const Value through = g.want(0, [&] {
        const Value slope = exp(minimum(g.in(0), 0)) * g.in(1);
        return select(above, g.dout(), g.dout() * slope);
      });
      return Values{through, g.want(1, [&] { return g.dout() * exp_below(g.in(0)); })};
    }};

/// The numbers of self-normalizing networks, for which there is a kernel.
constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

constexpr OpDef kSelu{
    .name = "Selu", .types = "T->T", .T = kFloats, .index = "...->...", .flops = 43, .grad = [](GradCtx& g) {
      const Value slope = exp(minimum(g.in(), 0)) * (kSeluAlpha * kSeluGamma);
      return Values{g.dout() * select(greater(g.in(), 0), kSeluGamma, slope)};
    }};

constexpr const OpDef* kActivationOps[] = {&kSwish, &kHardSwish, &kLeakyRelu, &kElu, &kSelu};

}  // namespace

Value gelu(const Value& x, source_location at) {
  return activated("gelu", x, at, [](const Value& v) {
    const Value twice = erf(v * 0.70710678118654752440) + 1;
    return v * 0.5 * twice;
  });
}

// gelu_tanh() uses (1 + tanh(u)) / 2 = sigmoid(2 u), which has no cancellation for negative u.
Value gelu_tanh(const Value& x, source_location at) {
  return activated("gelu_tanh", x, at, [](const Value& v) {
    const Value inner = v + square(v) * v * 0.044715;
    return v * sigmoid(inner * (2 * 0.79788456080286535588));
  });
}

Value elu(const Value& x, double alpha, source_location at) {
  return activated("elu", x, at, [&](const Value& v) { return make_binary(kElu, v, alpha); });
}

Value celu(const Value& x, double alpha, source_location at) {
  if (alpha == 0) throw Error(Code::plan, "celu: alpha is 0").at(at).hint("give another number, or use relu");
  return activated("celu", x, at, [&](const Value& v) {
    const Value above = greater(v, 0);
    return select(above, v, exp_below(v / alpha) * alpha);
  });
}

Value selu(const Value& x, double alpha, double gamma, source_location at) {
  if (alpha == kSeluAlpha && gamma == kSeluGamma) return make_one(kSelu, {x}, at);
  return activated("selu", x, at, [&](const Value& v) { return elu(v, alpha) * gamma; });
}

Value leaky_relu(const Value& x, double slope, source_location at) {
  return activated("leaky_relu", x, at, [&](const Value& v) { return make_binary(kLeakyRelu, v, slope); });
}

Value prelu(const Value& x, const Value& slope, source_location at) {
  const Scope here = caller_scope(graph_of({{x, slope}}, at), at);
  return make_binary(kLeakyRelu, x, slope);
}

Value thresholded_relu(const Value& x, double threshold, source_location at) {
  return activated("thresholded_relu", x, at, [&](const Value& v) { return select(greater(v, threshold), v, 0); });
}

// softplus() computes log(1 + e) as 2 atanh(e / (2 + e)), which is accurate for a small e.
Value softplus(const Value& x, source_location at) {
  return activated("softplus", x, at, [](const Value& v) {
    const Value size = minimum(v, -v);  // -|x|; its gradient at 0 is 1, since relu's gradient is 0 there
    const Value e = exp(size);
    const Value rest = atanh(e / (e + 2)) * 2;
    return relu(v) + rest;
  });
}

Value softsign(const Value& x, source_location at) {
  return activated("softsign", x, at, [](const Value& v) { return v / (abs(v) + 1); });
}

Value swish(const Value& x, double beta, source_location at) {
  if (beta == 1) return make_one(kSwish, {x}, at);
  return activated("swish", x, at, [&](const Value& v) { return v * sigmoid(v * beta); });
}

Value mish(const Value& x, source_location at) {
  // Below -1000, softplus is 0 in every dtype. Without this limit, the gradient would overflow near the lowest number,
  // and infinity times 0 is NaN.
  return activated("mish", x, at, [](const Value& v) { return v * tanh(softplus(maximum(v, -1000))); });
}

Value hard_sigmoid(const Value& x, double alpha, double beta, source_location at) {
  return activated("hard_sigmoid", x, at, [&](const Value& v) { return clip(v * alpha + beta, 0, 1); });
}

Value hard_swish(const Value& x, source_location at) {
  return make_one(kHardSwish, {x}, at);
}

Value shrink(const Value& x, double lambda, double bias, source_location at) {
  return activated("shrink", x, at, [&](const Value& v) {
    const Value above = select(greater(v, lambda), v - bias, 0);
    return select(less(v, -lambda), v + bias, above);
  });
}

std::span<const OpDef* const> activation_ops() {
  return kActivationOps;
}

}  // namespace ferry
