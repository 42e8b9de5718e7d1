#include "ops/math/bits.hpp"

#include "ops/build.hpp"
#include "ops/math/math.hpp"

namespace ferry {
namespace {

constexpr std::string_view kNotDifferentiable = "its result is not a floating-point number";

constexpr OpDef bit_op(std::string_view name, std::uint32_t flags = kExact) {
  return {.name = name, .types = "T,T->T", .T = kInts, .index = kBinary, .flags = flags, .no_grad = kNotDifferentiable};
}

constexpr OpDef kBitAnd = bit_op("BitAnd", kExact | kCommutes);
constexpr OpDef kBitOr = bit_op("BitOr", kExact | kCommutes);
constexpr OpDef kBitXor = bit_op("BitXor", kExact | kCommutes);
constexpr OpDef kShiftLeft = bit_op("ShiftLeft");
constexpr OpDef kShiftRight = bit_op("ShiftRight");

constexpr const OpDef* kBitOps[] = {&kBitAnd, &kBitOr, &kBitXor, &kShiftLeft, &kShiftRight};

}  // namespace

Value bit_and(const Operand& a, const Operand& b) {
  return make_binary(kBitAnd, a, b);
}
Value bit_or(const Operand& a, const Operand& b) {
  return make_binary(kBitOr, a, b);
}
Value bit_xor(const Operand& a, const Operand& b) {
  return make_binary(kBitXor, a, b);
}
Value shift_left(const Operand& a, const Operand& b) {
  return make_binary(kShiftLeft, a, b);
}
Value shift_right(const Operand& a, const Operand& b) {
  return make_binary(kShiftRight, a, b);
}

Value bit_not(const Value& x, source_location at) {
  Graph& graph = graph_of({{x}}, at);
  const Scope here = caller_scope(graph, at);
  // 0 - 1 has all bits set in every integer dtype.
  const Value zero = number_constant(graph, 0, x.dtype(), at);
  return bit_xor(x, zero - 1);
}

std::span<const OpDef* const> bit_ops() {
  return kBitOps;
}

}  // namespace ferry
