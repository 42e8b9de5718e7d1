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

/// The bits that are 1 in both a and b.
///
///     bit_and(g.constant({6, 5}), 3);  // [2 1]
Value bit_and(const Operand& a, const Operand& b);

/// The bits that are 1 in a or b, or in both.
///
///     bit_or(g.constant({6, 5}), 3);  // [7 7]
Value bit_or(const Operand& a, const Operand& b);

/// The bits that are 1 in either a or b, but not in both.
///
///     bit_xor(g.constant({6, 5}), 3);  // [5 6]
Value bit_xor(const Operand& a, const Operand& b);

/// x with all bits inverted.
///
///     bit_not(g.constant({0, 5}));  // [-1 -6]
Value bit_not(const Value& x, source_location at = source_location::current());

/// a shifted left (right) by b bits. The new bits are 0, or 1 if a negative number is shifted right. If b is negative
/// or at least the dtype's number of bits, all bits of the result are new: it is 0, or -1 for a negative number shifted
/// right.
///
///     shift_left(g.constant({1, 5}), 2);    // [4 20]
///     shift_right(g.constant({8, -8}), 2);  // [2 -2]
Value shift_left(const Operand& a, const Operand& b);
Value shift_right(const Operand& a, const Operand& b);

/// The ops: BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight.
[[nodiscard]] std::span<const OpDef* const> bit_ops();

}  // namespace ferry
#pragma GCC visibility pop
