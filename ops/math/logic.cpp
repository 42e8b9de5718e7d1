#include "ops/math/logic.hpp"

#include "base/error.hpp"
#include "ops/build.hpp"
#include "ops/gradient/gradient.hpp"

namespace ferry {
namespace {

constexpr std::string_view kNotDifferentiable = "its result is not a floating-point number";

constexpr OpDef binary(std::string_view name, std::string_view types, std::uint32_t flags = kExact) {
  return {.name = name, .types = types, .index = kBinary, .flags = flags, .no_grad = kNotDifferentiable};
}

/// Comparisons for equality, of any dtype. Their inputs may be exchanged.
constexpr OpDef equality(std::string_view name) {
  OpDef def = binary(name, "T,T->bool", kExact | kCommutes);
  def.T = kAnyType;
  return def;
}

constexpr OpDef kEqual = equality("Equal");
constexpr OpDef kNotEqual = equality("NotEqual");
constexpr OpDef kLess = binary("Less", "T,T->bool");
constexpr OpDef kLessEqual = binary("LessEqual", "T,T->bool");
constexpr OpDef kGreater = binary("Greater", "T,T->bool");
constexpr OpDef kGreaterEqual = binary("GreaterEqual", "T,T->bool");
constexpr OpDef kAnd = binary("And", "bool,bool->bool", kExact | kCommutes);
constexpr OpDef kOr = binary("Or", "bool,bool->bool", kExact | kCommutes);
constexpr OpDef kNot{
    .name = "Not", .types = "bool->bool", .index = "...->...", .flags = kExact, .no_grad = kNotDifferentiable};

constexpr OpDef kSelect{.name = "Select",
                        .types = "bool,T,T->T",
                        .T = kAnyType,
                        .index = "...,...,...->...",
                        .linear = 0b110,
                        .flags = kExact,
                        .grad = [](GradCtx& g) {
                          return Values{Value(), g.want(1, [&] { return select(g.in(0), g.dout(), 0); }),
                                        g.want(2, [&] { return select(g.in(0), 0, g.dout()); })};
                        }};

// Cast is not `linear`: a conversion to integers would truncate each partial sum.
constexpr AttrDef kCastAttrs[] = {{"dtype", "dtype"}};
constexpr OpDef kCast{.name = "Cast",
                      .types = "T->@dtype",
                      .T = kAnyType,
                      .attrs = kCastAttrs,
                      .index = "...->...",
                      .same = same_as_input,
                      .flags = kMoves,
                      .grad = [](GradCtx& g) { return Values{cast(g.dout(), g.in().dtype())}; }};

std::string bit_cast_index(const OpFacts& facts) {
  const DType from = facts.input(0).dtype;
  const DType to = facts.attr<DType>("dtype");
  if (size_of(from) != size_of(to) || to == DType::boolean)
    OpFacts::fail("the bits of " + std::string(name_of(from)) + " are no " + std::string(name_of(to)));
  return "...->...";
}

constexpr OpDef kBitCast{.name = "BitCast",
                         .types = "T->@dtype",
                         .T = kAnyType,
                         .attrs = kCastAttrs,
                         .index_of = bit_cast_index,
                         .flops = 0,
                         .flags = kView,
                         .no_grad = "its result is bits"};

constexpr const OpDef* kLogicOps[] = {&kEqual, &kNotEqual, &kLess, &kLessEqual, &kGreater, &kGreaterEqual,
                                      &kAnd,   &kOr,       &kNot,  &kSelect,    &kCast,    &kBitCast};

}  // namespace

Value equal(const Operand& a, const Operand& b) {
  return make_binary(kEqual, a, b);
}
Value not_equal(const Operand& a, const Operand& b) {
  return make_binary(kNotEqual, a, b);
}
Value less(const Operand& a, const Operand& b) {
  return make_binary(kLess, a, b);
}
Value less_equal(const Operand& a, const Operand& b) {
  return make_binary(kLessEqual, a, b);
}
Value greater(const Operand& a, const Operand& b) {
  return make_binary(kGreater, a, b);
}
Value greater_equal(const Operand& a, const Operand& b) {
  return make_binary(kGreaterEqual, a, b);
}

Value logical_and(const Operand& a, const Operand& b) {
  return make_binary(kAnd, a, b);
}
Value logical_or(const Operand& a, const Operand& b) {
  return make_binary(kOr, a, b);
}
Value logical_not(const Value& x, source_location at) {
  return make_one(kNot, {x}, at);
}

Value select(const Value& condition, const Operand& a, const Operand& b, source_location at) {
  if (a.is_number() && b.is_number())
    throw Error(Code::plan, "Select: both choices are numbers").at(at).hint("make one of them a constant");
  const auto as_value = [&](const Operand& operand, const Operand& other) {
    if (!operand.is_number()) return operand.value();
    return number_constant(graph_of({{condition, other.value()}}, at), operand.literal(), other.value().dtype(), at);
  };
  const Value first = as_value(a, b);
  const Values choices = same_dtype({first, as_value(b, a)}, at);
  return make_one(kSelect, {condition, choices[0], choices[1]}, at);
}

Value cast(const Value& x, DType dtype, source_location at) {
  if (x.defined() && x.dtype() == dtype) return x;
  return make_one(kCast, {x}, at, {{"dtype", dtype}});
}

Value bit_cast(const Value& x, DType dtype, source_location at) {
  if (x.defined() && x.dtype() == dtype) return x;
  return make_one(kBitCast, {x}, at, {{"dtype", dtype}});
}

std::span<const OpDef* const> logic_ops() {
  return kLogicOps;
}

}  // namespace ferry
