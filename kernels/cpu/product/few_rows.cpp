#include "kernels/cpu/product/few_rows.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/product/dot_products.hpp"
#include "kernels/cpu/product/product_tile.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kFew = 4;
constexpr std::int64_t kLarge = 1 << 12;  // elements of a matrix that is worth it
constexpr std::int64_t kColumns = 128;    // of the result that are computed together: its sums are in registers
constexpr std::int64_t kWork = 1 << 17;   // multiplications that are worth handing to another thread

/// The number of columns of the result that a thread takes at once; each column reads `depth` elements of the matrix.
std::int64_t columns_together(std::int64_t depth) {
  return (kWork / depth / kColumns + 1) * kColumns;
}

}  // namespace

bool has_few_rows(const ProductSizes& sizes, bool a_transposed, bool b_transposed) {
  const auto [m, n, k] = sizes;
  return 0 < m && m <= kFew && (!a_transposed || m == 1) && (b_transposed ? k : n) >= kMostLanes && n * k >= kLarge;
}

template <class T>
void multiply_few_rows(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  const auto [m, n, k] = sizes;
  const ProductTiles<T>& tiles = product_tiles_of<T>();
  const DotProducts<T> dots = dot_products_of<T>();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(b.transposed ? 0 : k));  // where the matrix's rows begin
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i) * n;
  for_chunks(run.parallel, n, columns_together(k), [&, m = m, n = n, k = k](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kColumns) {
      const std::int64_t count = std::min(kColumns, end - first), whole = count / kMostLanes * kMostLanes;
      for (std::int64_t r = 0; r < m; ++r) {
        const T* const row = a.data + r * k;
        T* const to = c + r * n + first;
        if (b.transposed) {
          dots(k, count, row, b.data + first * k, to);
          continue;
        }
        tiles.overlapping(k, row, rows.data(), b.data + first, whole, to);
        if (whole == count) continue;
        T last[kMostLanes];  // columns of the result; the first of them may have been computed already
        tiles.overlapping(k, row, rows.data(), b.data + n - kMostLanes, kMostLanes, last);
        std::copy(last + kMostLanes - (count - whole), last + kMostLanes, to + whole);
      }
    }
    finish_rows(run, begin, end - begin, m, n);
  });
}

template void multiply_few_rows(const KernelRun&, const ProductSizes&, const Matrix<float>&, const Matrix<float>&,
                                float*);
template void multiply_few_rows(const KernelRun&, const ProductSizes&, const Matrix<double>&, const Matrix<double>&,
                                double*);

}  // namespace ferry::cpu
