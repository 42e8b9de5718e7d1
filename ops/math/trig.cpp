#include "ops/math/trig.hpp"

#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

constexpr std::string_view kUnary = "...->...";
constexpr double kFunctionFlops = 20;

constexpr OpDef kSin{
    .name = "Sin", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * cos(g.in())};
    }};

constexpr OpDef kCos{
    .name = "Cos", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{-(g.dout() * sin(g.in()))};
    }};

constexpr OpDef kTan{
    .name = "Tan", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * (square(g.out()) + 1)};
    }};

constexpr OpDef kAsin{
    .name = "Asin", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * rsqrt(1 - square(g.in()))};
    }};

constexpr OpDef kAcos{
    .name = "Acos", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{-(g.dout() * rsqrt(1 - square(g.in())))};
    }};

constexpr OpDef kAtan{
    .name = "Atan", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() / (square(g.in()) + 1)};
    }};

constexpr OpDef kSinh{
    .name = "Sinh", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * cosh(g.in())};
    }};

constexpr OpDef kCosh{
    .name = "Cosh", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * sinh(g.in())};
    }};

constexpr OpDef kAsinh{
    .name = "Asinh", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * rsqrt(square(g.in()) + 1)};
    }};

constexpr OpDef kAcosh{
    .name = "Acosh", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() * rsqrt(square(g.in()) - 1)};
    }};

constexpr OpDef kAtanh{
    .name = "Atanh", .types = "T->T", .T = kFloats, .index = kUnary, .flops = kFunctionFlops, .grad = [](GradCtx& g) {
      return Values{g.dout() / (1 - square(g.in()))};
    }};

constexpr const OpDef* kTrigOps[] = {&kSin,  &kCos,  &kTan,   &kAsin,  &kAcos, &kAtan,
                                     &kSinh, &kCosh, &kAsinh, &kAcosh, &kAtanh};

}  // namespace

Value sin(const Value& x, source_location at) {
  return make_one(kSin, {x}, at);
}
Value cos(const Value& x, source_location at) {
  return make_one(kCos, {x}, at);
}
Value tan(const Value& x, source_location at) {
  return make_one(kTan, {x}, at);
}
Value asin(const Value& x, source_location at) {
  return make_one(kAsin, {x}, at);
}
Value acos(const Value& x, source_location at) {
  return make_one(kAcos, {x}, at);
}
Value atan(const Value& x, source_location at) {
  return make_one(kAtan, {x}, at);
}
Value sinh(const Value& x, source_location at) {
  return make_one(kSinh, {x}, at);
}
Value cosh(const Value& x, source_location at) {
  return make_one(kCosh, {x}, at);
}
Value asinh(const Value& x, source_location at) {
  return make_one(kAsinh, {x}, at);
}
Value acosh(const Value& x, source_location at) {
  return make_one(kAcosh, {x}, at);
}
Value atanh(const Value& x, source_location at) {
  return make_one(kAtanh, {x}, at);
}

std::span<const OpDef* const> trig_ops() {
  return kTrigOps;
}

}  // namespace ferry
