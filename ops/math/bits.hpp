// Bitwise operations on integers. Operands are broadcast and cast to one integer dtype, as in ops/math/math.hpp; the
// result has this dtype. Negative numbers are in two's complement.
//
// Errors: Error(plan) with the caller's line when shapes or dtypes do not fit.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

Value bit_and(const Operand& a, const Operand& b);
Value bit_or(const Operand& a, const Operand& b);
Value bit_xor(const Operand& a, const Operand& b);
Value bit_not(const Value& x, source_location at = source_location::current());

/// a shifted left (right) by b bits. The new bits are 0, or 1 if a negative number is shifted right. If b is negative
/// or at least the dtype's number of bits, all bits of the result are new: it is 0, or -1 for a negative number shifted
/// right.
Value shift_left(const Operand& a, const Operand& b);
Value shift_right(const Operand& a, const Operand& b);

/// The ops: BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight.
[[nodiscard]] std::span<const OpDef* const> bit_ops();

}  // namespace ferry
#pragma GCC visibility pop
