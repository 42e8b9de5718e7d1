#include "kernels/cpu/product/small_product.hpp"

#include <algorithm>

namespace ferry::cpu {
namespace {

constexpr std::int64_t kLeastRows = 8,
                       kLeast = 32;              // rows of a; columns of b, and depth: with less, packing does not pay
constexpr std::int64_t kMostElements = 1 << 17;  // of a factor, so that it stays in the second-level cache
constexpr std::int64_t kDepth = 192;             // rows of a panel at a time: they stay in the first-level cache
constexpr std::int64_t kRows = 48;               // rows at a time; a multiple of all tiles' rows

}  // namespace

bool is_small(const ProductSizes& sizes, bool b_transposed) {
  const auto [m, n, k] = sizes;
  return b_transposed && m >= kLeastRows && n >= kLeast && k >= kLeast && m * k <= kMostElements &&
         k * n <= kMostElements;
}

template <class T>
void multiply_small(const ProductSizes& sizes, const Matrix<T>& a, const Matrix<T>& b, T* c, std::int64_t c_step) {
  const auto [m, n, k] = sizes;
  const ProductTiles<T>& tiles = product_tiles_of<T>();
  const Panels<T> panels(n);
  const std::int64_t row_step = a.transposed ? 1 : a.step, depth_step = a.transposed ? a.step : 1;
  const EvenPlaces places(row_step);
  ProductStep steps[kDepth];
  for (std::int64_t i = 0; i < std::min(k, kDepth); ++i) steps[i] = {i * depth_step, i};
  alignas(64) T packed[kDepth * Panels<T>::kMostWidth];
  for (std::int64_t begin = 0; begin < k; begin += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - begin);
    for (std::int64_t p = 0; p < panels.count(); ++p) {
      const Panel panel = panels.at(p);
      pack(b.data + panel.first * b.step + begin, b.step, depth, panel, packed);
      for (std::int64_t row = 0; row < m; row += kRows) {
        const std::int64_t count = std::min(kRows, m - row);
        const T* const rows = a.data + row * row_step + begin * depth_step;
        const auto add = [&](T* sums, std::int64_t step) {
          const EvenPlaces sums_places(step);
          for (std::int64_t r = 0; r < count; r += tiles.rows)
            tiles.of[panel.vectors - 1][std::min(tiles.rows, count - r) - 1](
                depth, rows + r * row_step, places.at, steps, packed, sums + r * step, sums_places.at, begin > 0);
        };
        add_to_columns<kRows>(panel, c + row * c_step + panel.first, c_step, count, begin > 0, add);
      }
    }
  }
}

template void multiply_small(const ProductSizes&, const Matrix<float>&, const Matrix<float>&, float*, std::int64_t);
template void multiply_small(const ProductSizes&, const Matrix<double>&, const Matrix<double>&, double*, std::int64_t);

}  // namespace ferry::cpu
