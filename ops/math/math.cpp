#include "ops/math/math.hpp"

#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"

namespace ferry {
namespace {

constexpr std::string_view kUnary = "...->...";
constexpr double kFunctionFlops = 10;  // for exp, log and the like: about the cost of a vectorised polynomial

bool all_ones(const Tensor* tensor) {
  if (tensor == nullptr) return false;
  for (std::int64_t i = 0; i < tensor->count(); ++i)
    if (tensor->number(i) != 1) return false;
  return true;
}

/// x * 1 and 1 * x are x. x + 0 is not x if x is -0.0.
int same_as_product(const OpFacts& facts) {
  if (all_ones(facts.constant(1))) return 0;
  return all_ones(facts.constant(0)) ? 1 : -1;
}

int same_as_quotient(const OpFacts& facts) {
  return all_ones(facts.constant(1)) ? 0 : -1;
}

// ---- Arithmetic. Partial sums pass through both inputs of a sum together, and through one factor of a product. ----

constexpr OpDef kAdd{.name = "Add",
                     .types = "T,T->T",
                     .index = kBinary,
                     .reduce = Reduce::sum,
                     .linear = 0b11,
                     .flags = kExact | kCommutes,
                     .grad = [](GradCtx& g) {
                       return Values{g.dout(), g.dout()};
                     }};

constexpr OpDef kSub{
    .name = "Sub", .types = "T,T->T", .index = kBinary, .linear = 0b11, .flags = kExact, .grad = [](GradCtx& g) {
      return Values{g.dout(), g.want(1, [&] { return -g.dout(); })};
    }};

constexpr OpDef kMul{
    .name = "Mul",
    .types = "T,T->T",
    .index = kBinary,
    .linear = 0b01,
    .same = same_as_product,
    .flags = kExact | kCommutes,
    .grad = [](GradCtx& g) {
      return Values{g.want(0, [&] { return g.dout() * g.in(1); }), g.want(1, [&] { return g.dout() * g.in(0); })};
    }};

constexpr OpDef kDiv{.name = "Div",
                     .types = "T,T->T",
                     .index = kBinary,
                     .linear = 0b01,
                     .linear_for = kFloats,  // a quotient of integers is rounded towards zero
                     .same = same_as_quotient,
                     .flags = kExact,
                     .grad = [](GradCtx& g) {
                       const Value da = g.dout() / g.in(1);
                       return Values{da, g.want(1, [&] { return -(da * g.out()); })};
                     }};

constexpr OpDef kNeg{.name = "Neg",
                     .types = "T->T",
                     .T = kSigned,
                     .index = kUnary,
                     .linear = 0b1,
                     .flags = kExact,
                     .grad = [](GradCtx& g) { return Values{-g.dout()}; }};

// d/da a^b = b a^(b-1). It is 0 for b = 0, even if a is 0. The gradient of b is d/db a^b = a^b log a. It is taken as 0
// for a <= 0 (for a = 0 and b > 0 this is the limit).
Values pow_grad(GradCtx& g) {
  const Value a = g.in(0);
  const Value b = g.in(1);
  return {g.want(0,
                 [&] {
                   const Value constant = equal(b, 0);
                   const Value below = select(constant, 0, b - 1);
                   const Value scaled = g.dout() * b;
                   return scaled * pow(a, below);
                 }),
          g.want(1, [&] {
            const Value scaled = g.dout() * g.out();
            const Value positive = select(greater(a, 0), a, 1);
            const Value slope = scaled * log(positive);
            return select(equal(a, 0), 0, slope);
          })};
}

constexpr OpDef kPow{.name = "Pow", .types = "T,T->T", .index = kBinary, .flops = 2 * kFunctionFlops, .grad = pow_grad};

constexpr OpDef kMaximum{
    .name = "Maximum", .types = "T,T->T", .index = kBinary, .flags = kExact | kCommutes, .grad = [](GradCtx& g) {
      const Value first = greater_equal(g.in(0), g.in(1));
      return Values{select(first, g.dout(), 0), select(first, 0, g.dout())};
    }};

constexpr OpDef kMinimum{
    .name = "Minimum", .types = "T,T->T", .index = kBinary, .flags = kExact | kCommutes, .grad = [](GradCtx& g) {
      const Value first = less_equal(g.in(0), g.in(1));
      return Values{select(first, g.dout(), 0), select(first, 0, g.dout())};
    }};

// mod() is a - q b. The integer q is constant between jumps, so its derivative is taken as 0.
Values mod_grad(GradCtx& g) {
  return {g.dout(), g.want(1, [&] {
            const Value quotient = (g.in(0) - g.out()) / g.in(1);
            return -(g.dout() * quotient);
          })};
}

constexpr OpDef kMod{.name = "Mod", .types = "T,T->T", .index = kBinary, .flops = kFunctionFlops, .grad = mod_grad};
constexpr OpDef kFmod{.name = "Fmod", .types = "T,T->T", .index = kBinary, .flops = kFunctionFlops, .grad = mod_grad};

// ---- Functions ----

constexpr std::string_view kSteps = "it is constant between jumps";

constexpr OpDef kFloor{.name = "Floor", .types = "T->T", .T = kFloats, .index = kUnary, .no_grad = kSteps};
constexpr OpDef kCeil{.name = "Ceil", .types = "T->T", .T = kFloats, .index = kUnary, .no_grad = kSteps};
constexpr OpDef kRound{.name = "Round", .types = "T->T", .T = kFloats, .index = kUnary, .no_grad = kSteps};

constexpr OpDef kAbs{.name = "Abs", .types = "T->T", .index = kUnary, .grad = [](GradCtx& g) {
                       return Values{g.dout() * sign(g.in())};
                     }};

constexpr OpDef kSign{.name = "Sign", .types = "T->T", .index = kUnary, .no_grad = kSteps};

constexpr OpDef kSquare{.name = "Square", .types = "T->T", .index = kUnary, .grad = [](GradCtx& g) {
                          return Values{g.dout() * (g.in() * 2)};
                        }};

constexpr OpDef kExp{
    .name = "Exp", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * g.out()};
    }};

constexpr OpDef kLog{
    .name = "Log", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() / g.in()};
    }};

constexpr OpDef kSqrt{
    .name = "Sqrt", .types = "T->T", .T = kFloats, .index = kUnary, .flops = 4, .grad = [](GradCtx& g) {
      return Values{g.dout() * 0.5 / g.out()};
    }};

constexpr OpDef kRsqrt{
    .name = "Rsqrt", .types = "T->T", .T = kFloats, .index = kUnary, .flops = 4, .grad = [](GradCtx& g) {
      return Values{g.dout() * -0.5 * g.out() / g.in()};
    }};

constexpr OpDef kTanh{
    .name = "Tanh", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * (1 - square(g.out()))};
    }};

constexpr OpDef kSigmoid{
    .name = "Sigmoid", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      const Value slope = g.out() * (1 - g.out());
      return Values{g.dout() * slope};
    }};

Value relu_grad(const Value& dy, const Value& y);

constexpr OpDef kRelu{.name = "Relu", .types = "T->T", .T = kSigned, .index = kUnary, .grad = [](GradCtx& g) {
                        return Values{relu_grad(g.dout(), g.out())};
                      }};

constexpr OpDef kReluGrad{
    .name = "ReluGrad", .types = "T,T->T", .T = kSigned, .index = kBinary, .linear = 0b01, .grad = [](GradCtx& g) {
      return Values{relu_grad(g.dout(), g.in(1)), Value()};
    }};

Value relu_grad(const Value& dy, const Value& y) {
  return make_one(kReluGrad, {dy, y}, dy.op().line());
}

constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

constexpr OpDef kErf{
    .name = "Erf", .types = "T->T", .T = kFloats, .index = kUnary, .flops = 2 * kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * (kTwoOverSqrtPi * exp(-square(g.in())))};
    }};

constexpr const OpDef* kMathOps[] = {&kAdd,     &kSub,   &kMul,     &kDiv,    &kNeg,      &kPow, &kMaximum,
                                     &kMinimum, &kAbs,   &kSign,    &kSquare, &kExp,      &kLog, &kSqrt,
                                     &kRsqrt,   &kTanh,  &kSigmoid, &kRelu,   &kReluGrad, &kErf, &kMod,
                                     &kFmod,    &kFloor, &kCeil,    &kRound};

}  // namespace

Value add(const Operand& a, const Operand& b) {
  return make_binary(kAdd, a, b);
}
Value sub(const Operand& a, const Operand& b) {
  return make_binary(kSub, a, b);
}
Value mul(const Operand& a, const Operand& b) {
  return make_binary(kMul, a, b);
}
Value div(const Operand& a, const Operand& b) {
  return make_binary(kDiv, a, b);
}
Value neg(const Operand& x) {
  return make_one(kNeg, {x.value()}, x.line());
}
Value pow(const Operand& a, const Operand& b) {
  return make_binary(kPow, a, b);
}
Value maximum(const Operand& a, const Operand& b) {
  return make_binary(kMaximum, a, b);
}
Value minimum(const Operand& a, const Operand& b) {
  return make_binary(kMinimum, a, b);
}

Value mod(const Operand& a, const Operand& b) {
  return make_binary(kMod, a, b);
}
Value fmod(const Operand& a, const Operand& b) {
  return make_binary(kFmod, a, b);
}
Value clip(const Value& x, const Operand& low, const Operand& high) {
  const Scope here = caller_scope(graph_of({{x}}, low.line()), low.line());
  return minimum(maximum(x, low), high);
}

Value reciprocal(const Value& x, source_location at) {
  const Scope here = caller_scope(graph_of({{x}}, at), at);
  return 1 / x;
}
Value floor(const Value& x, source_location at) {
  return make_one(kFloor, {x}, at);
}
Value ceil(const Value& x, source_location at) {
  return make_one(kCeil, {x}, at);
}
Value round(const Value& x, source_location at) {
  return make_one(kRound, {x}, at);
}
Value abs(const Value& x, source_location at) {
  return make_one(kAbs, {x}, at);
}
Value sign(const Value& x, source_location at) {
  return make_one(kSign, {x}, at);
}
Value square(const Value& x, source_location at) {
  return make_one(kSquare, {x}, at);
}
Value exp(const Value& x, source_location at) {
  return make_one(kExp, {x}, at);
}
Value log(const Value& x, source_location at) {
  return make_one(kLog, {x}, at);
}
Value sqrt(const Value& x, source_location at) {
  return make_one(kSqrt, {x}, at);
}
Value rsqrt(const Value& x, source_location at) {
  return make_one(kRsqrt, {x}, at);
}
Value tanh(const Value& x, source_location at) {
  return make_one(kTanh, {x}, at);
}
Value sigmoid(const Value& x, source_location at) {
  return make_one(kSigmoid, {x}, at);
}
Value relu(const Value& x, source_location at) {
  return make_one(kRelu, {x}, at);
}
Value erf(const Value& x, source_location at) {
  return make_one(kErf, {x}, at);
}

std::span<const OpDef* const> math_ops() {
  return kMathOps;
}

}  // namespace ferry
