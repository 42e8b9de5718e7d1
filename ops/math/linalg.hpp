// Products of matrices, determinants.
#pragma once

#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The matrix product of the last two dims: [...,m,k] times [...,k,n] is [...,m,n]; leading dims are broadcast as numpy
/// does. `transpose_a`: a is [...,k,m]; `transpose_b`: b is [...,n,k]. Both are numbers of rank 2 or more; two dtypes
/// become one as in ops/math/math.hpp. Error(plan) with the caller's line when shapes or dtypes do not fit.
Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false,
             source_location at = source_location::current());

/// The determinants of the square matrices in the last two dims. Floating-point.
Value det(const Value& x, source_location at = source_location::current());

/// MatMul {transpose_a, transpose_b: bool, false when absent}, Det, Cofactors (for each element the determinant of the
/// matrix without its row and column, with alternating signs).
[[nodiscard]] std::span<const OpDef* const> linalg_ops();

}  // namespace ferry
#pragma GCC visibility pop
