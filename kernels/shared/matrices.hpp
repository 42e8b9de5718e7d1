// Products of matrices: their sizes, and the positions of their factors.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "kernels/shared/nest.hpp"
#include "kernels/shared/state.hpp"

namespace ferry {

struct Transposed {
  bool a = false, b = false;
};

[[nodiscard]] inline Transposed transposed_in(const KernelSetup& setup) {
  return {setup.attrs.get_or("transpose_a", false), setup.attrs.get_or("transpose_b", false)};
}

/// The sizes of products of matrices, one product for each index of the leading dims.
struct Products {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t count = 1;
};

[[nodiscard]] inline std::int64_t checked_size(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw Error(Code::plan, "a matrix has a dim of {}; the limit is 2147483647", size);
  return size;
}

/// The array of the leading dims of an operand: all dims except the last two.
[[nodiscard]] inline Array leading(const Array& array) {
  const auto dims = static_cast<std::size_t>(array.rank() - 2);
  return {array.data,
          array.dtype,
          array.sizes.first(dims),
          array.whole.first(dims),
          array.begin.first(dims),
          array.bounded && dims > 0};
}

/// The products of the op MatMul.
struct BatchOfProducts {
  Products sizes;
  Nest<2> leading;  ///< maps each product to its factors, counted in matrices
};

/// Computes the products. Also sets the output's extent.
[[nodiscard]] inline BatchOfProducts prepare_products(const Array& a, const Array& b, Array& output,
                                                      Transposed transposed) {
  const auto size = [](const Array& array, int from_end) { return checked_size(array.sizes[array.rank() - from_end]); };
  Products batch{
      .m = size(a, transposed.a ? 1 : 2), .n = size(b, transposed.b ? 2 : 1), .k = size(a, transposed.a ? 2 : 1)};
  Array leading_out = leading(output);
  const Array leading_in[] = {leading(a), leading(b)};
  set_extent(leading_in, leading_out);
  if (output.rank() == 2) output.sizes[0] = batch.m;
  batch.count = leading_out.count();
  // The rows of a batch of matrices times one matrix are the rows of one large matrix.
  if (leading_in[1].count() == 1 && leading_in[0].count() == batch.count && !transposed.a &&
      batch.count * batch.m <= std::numeric_limits<int>::max()) {
    batch.m *= batch.count;
    batch.count = std::min<std::int64_t>(batch.count, 1);
  }
  return {batch, make_nest<2>(leading_in, leading_out)};
}

/// The product of the op MatMulOverRows: the transposed a times b, over all leading dims together as one dim of rows.
[[nodiscard]] inline Products product_over_rows(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return {checked_size(a.back()), checked_size(b.back()), checked_size(product(a, 0, static_cast<int>(a.size()) - 1))};
}

}  // namespace ferry
