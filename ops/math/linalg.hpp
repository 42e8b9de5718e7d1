// Products of matrices, and determinants.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The matrix product of the last two dims: [...,m,k] times [...,k,n] is [...,m,n]; leading dims are broadcast as in
/// numpy. With `transpose_a`, a is [...,k,m]; with `transpose_b`, b is [...,n,k]. A vector is a row on the left and a
/// column on the right, also if it is transposed; the result lacks its dim: [m,k] times [k] is [m]. Both values are
/// numbers; two dtypes are promoted as in ops/math/math.hpp. Error(plan) with the caller's line if shapes or dtypes do
/// not fit.
///
///     matmul(g.constant({{1.0, 2.0}, {3.0, 4.0}}), g.constant({5.0, 6.0}));  // [17 39]
Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false,
             source_location at = source_location::current());

/// The sum over the leading dims of a[...,k] * b[...,n], as [k,n]: one product of all rows together. Both values are
/// numbers of one dtype with equal leading dims, one or more. Error(plan) with the caller's line if shapes or dtypes do
/// not fit.
///
///     matmul_over_rows(g.constant({{1, 2}, {3, 4}}), g.constant({{5}, {6}}));  // [[23] [34]]
Value matmul_over_rows(const Value& a, const Value& b, source_location at = source_location::current());

/// c = sum over k of (a[...,k] - a_zero) * (b[k,n] - b_zero), exact modulo 2^32, as int32 [...,n]. `a` and `b` are int8
/// or uint8. Each zero point is a scalar of the same dtype (undefined: 0). a_zero may also be [m], for the rows of a
/// matrix a, and b_zero may be [n]. With AVX-512 VNNI, it is about four times as fast as floating-point. No gradient.
/// Error(plan) with the caller's line if shapes or dtypes do not fit.
///
///     Value a = cast(g.constant({{3, 5}}), DType::uint8), b = cast(g.constant({{2}, {1}}), DType::int8);
///     matmul_integer(a, b, g.constant(1, DType::uint8));  // [[8]]
Value matmul_integer(const Value& a, const Value& b, const Value& a_zero = {}, const Value& b_zero = {},
                     source_location at = source_location::current());

/// The determinants of the square matrices in the last two dims of x [...,n,n], as [...]. Floating-point. Error(plan)
/// with the caller's line if shape or dtype do not fit.
///
///     det(g.constant({{1.0, 2.0}, {3.0, 4.0}}));  // -2
Value det(const Value& x, source_location at = source_location::current());

/// The ops, with their attributes in braces: MatMul {transpose_a, transpose_b: bool, false if absent},
/// MatMulOverRows(a, b), MatMulInteger(a, b, a_zero, b_zero), Det, Cofactors (for each element, the determinant of the
/// matrix without the element's row and column, with alternating signs).
[[nodiscard]] std::span<const OpDef* const> linalg_ops();

}  // namespace ferry
#pragma GCC visibility pop
