// einsum(): sums of products in Einstein notation.
#pragma once

#include <span>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Einstein summation: "bij,bjk->bik" is a batch of matrix products. `notation` has a letter for each dim of each
/// value. Equal letters are one index, which is summed over unless it appears after "->". A letter that appears twice
/// in one value takes the diagonal. "..." stands for dims that are broadcast. Without "->", the result has the letters
/// that appear once, in alphabetical order. Spaces are ignored. Values are contracted from left to right, by matmul if
/// an index of both values is summed over.
///
/// Two dtypes are promoted as in ops/math/math.hpp. Values of 16 bits are computed in float32 if several ops would
/// round. Error(plan) with the caller's line if notation, ranks, sizes or dtypes do not fit.
///
///     einsum("ij,j->i", {g.constant({{1, 2}, {3, 4}}), g.constant({5, 6})});  // [17 39]
///     einsum("ii", {g.constant({{1, 2}, {3, 4}})});                           // 5
Value einsum(std::string_view notation, std::span<const Value> values, source_location at = source_location::current());
inline Value einsum(std::string_view notation, const Values& values, source_location at = source_location::current()) {
  return einsum(notation, std::span<const Value>(values), at);
}

}  // namespace ferry
#pragma GCC visibility pop
