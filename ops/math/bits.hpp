// Integers as rows of bits. Operands are broadcast as numpy does; dtypes must be equal (a number takes the other
// operand's); the result has the operands' dtype. Negative numbers are in two's complement.
//
// Errors: Error(plan) with the caller's line when shapes or dtypes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

namespace ferry {

Value bit_and(const Operand& a, const Operand& b);
Value bit_or(const Operand& a, const Operand& b);
Value bit_xor(const Operand& a, const Operand& b);
Value bit_not(const Value& x, source_location at = source_location::current());

/// a's bits moved by b places to the left (right). The bits that come in are 0, but 1 where a negative number moves to
/// the right; they are all that is left when b is negative or at least the dtype's number of bits.
Value shift_left(const Operand& a, const Operand& b);
Value shift_right(const Operand& a, const Operand& b);

/// BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight.
[[nodiscard]] std::span<const OpDef* const> bit_ops();

}  // namespace ferry
