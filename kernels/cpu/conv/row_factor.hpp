// Products of rows that are read in place with a packed panel. A row may lack elements: for example, a window reads
// only its elements inside the image.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/conv/images.hpp"
#include "kernels/cpu/product/panels.hpp"

namespace ferry::cpu {

/// The bytes of a panel that fit in the first-level cache.
inline constexpr std::int64_t kCachedBytes = 25 << 10;

/// Rows of the factor that is read in place. The products use the same elements of each row.
struct RowGroup {
  std::vector<std::int64_t> rows;    ///< the number of each row in the sums
  std::vector<std::int64_t> places;  ///< the offset where each row begins
  std::vector<ProductStep> steps;    ///< the elements of a row that are used, in the order of the panel's rows
  std::vector<std::int64_t> ends;    ///< the ends of the tiles into which the rows are cut
};

/// The factor that is read in place. Its groups have the steps for the first `period` of the `depth` rows of a panel;
/// the next `period` rows have the same steps, `period_step` elements further on. In each group the rows are sorted by
/// image.
struct RowFactor {
  std::int64_t images = 1, depth = 0, period = 1, period_step = 0;
  std::vector<RowGroup> groups;
};

/// Sets RowGroup::ends.
void cut_into_tiles(RowGroup& group);

/// Multiplies the steps in `depth`, for the first `count` rows of a group. `panel` points to the panel's row
/// depth.begin.
template <class T>
void multiply(const T* x, const RowGroup& group, std::int64_t count, Span depth, const T* panel, std::int64_t vectors,
              T* sums, bool add) {
  const ProductTiles<T>& tiles = product_tiles_of<T>();
  const auto from = [&](std::int64_t row) {
    return std::ranges::lower_bound(group.steps, row, {}, &ProductStep::row) - group.steps.begin();
  };
  const std::int64_t first = from(depth.begin), steps = from(depth.end) - first;
  if (steps == 0 && add) return;
  const std::int64_t width = vectors * tiles.lanes;
  std::int64_t row = 0, rows = 0;
  for (auto end = group.ends.begin(); row < count; row += rows, ++end) {
    rows = std::min(*end, count) - row;
    std::int64_t places[kMostTileRows];
    for (std::int64_t r = 0; r < rows; ++r) places[r] = group.rows[row + r] * width;
    tiles.of[vectors - 1][rows - 1](steps, x, group.places.data() + row, group.steps.data() + first,
                                    panel - depth.begin * width, sums, places, add);
  }
}

/// sums[r, v] = sum over i of the row's elements times panel[i, v], for the rows r of the first `images`. If `add` is
/// set, the products are added to the sums. packed(i, n) returns rows [i, i + n) of the panel, at most kCachedBytes at
/// a time. Each row is requested once, in order.
template <class T, class Packed>
void multiply(const T* x, const RowFactor& factor, std::int64_t images, const Packed& packed, const Panel& panel,
              T* sums, bool add) {
  const std::int64_t most = kCachedBytes / (Panels<T>::width(panel) * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t begin = 0; begin == 0 || begin < factor.depth; begin += factor.period, x += factor.period_step) {
    const std::int64_t period = std::min(factor.period, factor.depth - begin);
    const std::int64_t cuts = std::max<std::int64_t>(1, (period + most - 1) / most);
    for (std::int64_t cut = 0; cut < cuts; ++cut) {
      const Span depth{period * cut / cuts, period * (cut + 1) / cuts};
      const T* const here = packed(begin + depth.begin, depth.size());
      for (const RowGroup& group : factor.groups)
        multiply(x, group, std::ssize(group.rows) / factor.images * images, depth, here, panel.vectors, sums,
                 add || begin + depth.begin > 0);
    }
  }
}

}  // namespace ferry::cpu
