// Sums of products by Einstein's convention.
#pragma once

#include <span>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/value.hpp"

namespace ferry {

/// The sum of products that `notation` says: "bij,bjk->bik" are products of matrices. A letter for each dim of each
/// value; equal letters are one index, summed over unless they come behind "->". A letter twice in one value takes the
/// diagonal. "..." are leading dims, broadcast. Without "->" the result has the letters that come once, in the
/// alphabet's order. Spaces mean nothing. Computed from left to right, by matmul where something is summed over.
///
/// Numbers of one dtype. Error(plan) with the caller's line when notation, ranks or sizes do not fit.
Value einsum(std::string_view notation, std::span<const Value> values, source_location at = source_location::current());
inline Value einsum(std::string_view notation, const Values& values, source_location at = source_location::current()) {
  return einsum(notation, std::span<const Value>(values), at);
}

}  // namespace ferry
