// Products of matrices by tiles. The columns of one factor are packed into panels with the width of two vectors; the
// other factor is read in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/cpu/array/transpose.hpp"
#include "kernels/cpu/product/product_tile.hpp"

namespace ferry::cpu {

/// The sizes of a product of [m,k] and [k,n].
struct ProductSizes {
  std::int64_t m, n, k;
};

/// The bytes in a row of a panel with the widest vectors of any processor. Scratch sizes are computed from it, so that
/// all machines make the same plan.
inline constexpr std::int64_t kPanelBytes = 128;

/// Some consecutive columns of a matrix.
struct Panel {
  std::int64_t first, count;
  std::int64_t vectors;  ///< the number of vectors that the columns fill: 1 or 2
};

template <class T>
class Panels {
 public:
  static constexpr std::int64_t kMostWidth = kPanelBytes / static_cast<std::int64_t>(sizeof(T));

  explicit Panels(std::int64_t columns) : columns_(columns) {}
  [[nodiscard]] static std::int64_t lanes() { return product_tiles_of<T>().lanes; }
  /// The number of columns of each panel except the last.
  [[nodiscard]] static std::int64_t width() { return 2 * lanes(); }
  /// The number of columns of this panel, including those that fill up its last vector.
  [[nodiscard]] static std::int64_t width(const Panel& panel) { return panel.vectors * lanes(); }
  [[nodiscard]] std::int64_t count() const { return (columns_ + width() - 1) / width(); }
  /// The number of all columns, including those that fill up the last vector.
  [[nodiscard]] std::int64_t padded() const { return (columns_ + lanes() - 1) / lanes() * lanes(); }
  /// A number that is at least padded() on any processor.
  [[nodiscard]] std::int64_t room() const { return (columns_ + kMostWidth - 1) / kMostWidth * kMostWidth; }
  [[nodiscard]] Panel at(std::int64_t number) const {
    const std::int64_t first = number * width(), left = columns_ - first;
    return {first, std::min(left, width()), left > lanes() ? 2 : 1};
  }

 private:
  std::int64_t columns_;
};

/// panel[i, v] = from[v * step + i] for i < k and the panel's columns v, then zeros that fill up its vectors.
template <class T>
void pack(const T* from, std::int64_t step, std::int64_t k, const Panel& panel, T* to) {
  const std::int64_t width = Panels<T>::width(panel);
  transpose(from, step, panel.count, k, to, width, PrefetchNext::in_source);
  if (panel.count < width)
    for (std::int64_t i = 0; i < k; ++i) std::fill(to + i * width + panel.count, to + (i + 1) * width, T(0));
}

/// Packs rows tile by tile, so that a tile reads consecutive elements. Element [r,i] of a tile's rows is at i * (rows
/// of a tile) + r.
template <class T>
void pack_rows(const T* from, std::int64_t step, std::int64_t count, std::int64_t depth, T* to) {
  const std::int64_t rows = product_tiles_of<T>().rows;
  for (std::int64_t r = 0; r < count; r += rows)
    transpose(from + r * step, step, std::min(rows, count - r), depth, to + r * depth, rows);
}

/// With at most this many columns, packing the other factor's rows takes longer than it saves.
inline constexpr std::int64_t kColumnsPerPackedRow = 192;

/// The places of the elements of a row: element i is at places[i], or at i if `places` is empty.
using Places = std::span<const std::int64_t>;

/// to[v * step + place of i] = sums[i, v] for i < n and the panel's columns v.
template <class T>
void unpack(const T* sums, std::int64_t n, Places places, const Panel& panel, T* to, std::int64_t step) {
  const std::int64_t width = Panels<T>::width(panel);
  if (places.empty()) return transpose(sums, width, n, panel.count, to, step, PrefetchNext::in_target);
  constexpr std::int64_t kTogether = 16;
  for (std::int64_t begin = 0; begin < n; begin += kTogether)
    for (std::int64_t v = 0; v < panel.count; ++v)
      for (std::int64_t i = begin; i < std::min(n, begin + kTogether); ++i)
        to[v * step + places[i]] = sums[i * width + v];
}

/// Calls add(sums, row step) for a panel's columns of `rows` rows at `to`, `step` apart. `sums` is `to` itself or, if
/// the panel does not fill its vectors, a copy with full vectors. `again`: add() adds to the existing elements.
template <std::int64_t most_rows, class T, class Add>
void add_to_columns(const Panel& panel, T* to, std::int64_t step, std::int64_t rows, bool again, const Add& add) {
  const std::int64_t width = Panels<T>::width(panel);
  if (panel.count == width) return add(to, step);
  T sums[most_rows * Panels<T>::kMostWidth];
  for (std::int64_t r = 0; again && r < rows; ++r) std::copy_n(to + r * step, panel.count, sums + r * width);
  add(sums, width);
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(sums + r * width, panel.count, to + r * step);
}

}  // namespace ferry::cpu
