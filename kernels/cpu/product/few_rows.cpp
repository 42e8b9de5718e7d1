#include "kernels/cpu/product/few_rows.hpp"

#include <algorithm>

#include "kernels/cpu/finish.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/product/dot_products.hpp"
#include "kernels/cpu/product/product_tile.hpp"

namespace ferry::cpu {
namespace {

constexpr std::int64_t kFew = 4;
constexpr std::int64_t kLarge = 1 << 12;  // the least elements of a suitable matrix
constexpr std::int64_t kColumns = 2048;   // the most columns of the result at a time: kSweepRows rows fit the cache
constexpr std::int64_t kLeast = 256;      // the least: a thread reads rows of the matrix in runs of this length
constexpr std::int64_t kWork = 1 << 17;   // multiplications that are worth another thread

/// The number of columns of the result that a thread takes at once, a multiple of kMostLanes. All threads get as many
/// of these parts. A column of the result reads `depth` elements of the matrix.
std::int64_t columns_together(std::int64_t columns, std::int64_t depth, std::int64_t threads) {
  const auto parts_of = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
  const std::int64_t parts = parts_of(parts_of(columns, kColumns), threads) * threads;
  const std::int64_t least = std::max(kLeast, kWork / depth);
  return parts_of(std::max(parts_of(columns, parts), least), kMostLanes) * kMostLanes;
}

/// Computes the columns [begin, end) of a product with a transposed matrix.
template <class T>
void multiply_by_dots(const ProductSizes& sizes, std::int64_t begin, std::int64_t end, const T* a, const T* b, T* c) {
  const auto [m, n, k] = sizes;
  constexpr std::int64_t kTogether = 128;  // the rows of the matrix for these columns stay in the cache
  for (std::int64_t first = begin; first < end; first += kTogether)
    for (std::int64_t r = 0; r < m; ++r)
      dot_products_of<T>()(k, std::min(kTogether, end - first), a + r * k, b + first * k, c + r * n + first);
}

/// Computes the columns [begin, end) of a product with a matrix, some rows of the matrix at a time. So the processor
/// reads the matrix from memory in a few long runs.
template <class T>
void multiply_by_sweeps(const ProductSizes& sizes, std::int64_t begin, std::int64_t end, const T* a, const T* b, T* c) {
  const auto [m, n, k] = sizes;
  const RowSweep<T> sweep = product_tiles_of<T>().sweep;
  const std::int64_t whole = (end - begin) / kMostLanes * kMostLanes, left = end - begin - whole;
  T last[kFew][kMostLanes];  // the last kMostLanes columns; c also has the first of them
  for (std::int64_t i = 0; i < k; i += kSweepRows) {
    const std::int64_t rows = std::min(kSweepRows, k - i);
    for (std::int64_t r = 0; r < m; ++r) {
      sweep(rows, a + r * k + i, b + i * n + begin, n, whole, c + r * n + begin, i > 0);
      if (left > 0) sweep(rows, a + r * k + i, b + i * n + end - kMostLanes, n, kMostLanes, last[r], i > 0);
    }
  }
  for (std::int64_t r = 0; left > 0 && r < m; ++r)
    std::copy(last[r] + kMostLanes - left, last[r] + kMostLanes, c + r * n + end - left);
}

}  // namespace

bool has_few_rows(const ProductSizes& sizes, bool a_transposed, bool b_transposed) {
  const auto [m, n, k] = sizes;
  return 0 < m && m <= kFew && (!a_transposed || m == 1) && (b_transposed ? k : n) >= kMostLanes && n * k >= kLarge;
}

template <class T>
void multiply_few_rows(const KernelRun& run, const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  const auto [m, n, k] = sizes;
  for_chunks(run.parallel, n, columns_together(n, k, run.parallel.threads()),
             [&, m = m, n = n](std::int64_t begin, std::int64_t end) {
               if (b.transposed)
                 multiply_by_dots(sizes, begin, end, a.data, b.data, c);
               else
                 multiply_by_sweeps(sizes, begin, end, a.data, b.data, c);
               finish_rows(run, begin, end - begin, m, n);
             });
}

template void multiply_few_rows(const KernelRun&, const ProductSizes&, const Matrix<float>&, const Matrix<float>&,
                                float*);
template void multiply_few_rows(const KernelRun&, const ProductSizes&, const Matrix<double>&, const Matrix<double>&,
                                double*);

}  // namespace ferry::cpu
