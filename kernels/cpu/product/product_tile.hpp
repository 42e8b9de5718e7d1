// The innermost loops of products of matrices: a few rows times a panel of columns, with the sums in registers. They
// are built once for each instruction set; kernels of all levels use the best loops for the processor.
#pragma once

#include <cstdint>

namespace ferry::cpu {

inline constexpr int kMostTileRows = 12;

/// The offsets of a tile's rows if they are `step` elements apart.
struct EvenPlaces {
  explicit EvenPlaces(std::int64_t step) {
    for (int r = 0; r < kMostTileRows; ++r) at[r] = r * step;
  }
  std::int64_t at[kMostTileRows];
};

/// One term of the sums: the offset of a factor in x, and the row of the panel by which it is multiplied.
struct ProductStep {
  std::int64_t offset;  ///< in x, from the beginning of each row of the tile
  std::int64_t row;     ///< the row of the panel
};

/// c[c_places[r] + v] = sum over i < k of x[places[r] + steps[i].offset] * panel[steps[i].row, v], for the rows r of a
/// tile and the columns v of a panel. The panel is contiguous. `add`: the sum begins with c. Terms are added in the
/// order of i for tiles of any size. So the division of a product into tiles does not change its bits.
template <class T>
using ProductTile = void (*)(std::int64_t k, const T* x, const std::int64_t* places, const ProductStep* steps,
                             const T* panel, T* c, const std::int64_t* c_places, bool add);

/// The most rows of a matrix that a RowSweep reads.
inline constexpr std::int64_t kSweepRows = 16;

/// y[i] = sum over r < rows of weights[r] * x[r * step + i] for i < n: a row times some rows of a matrix. Reads each
/// row of the matrix from its beginning to its end. `add`: the sum begins with y. Terms are added in the order of r.
/// The function reads and writes whole vectors: up to kMostLanes - 1 elements beyond n.
template <class T>
using RowSweep = void (*)(std::int64_t rows, const T* weights, const T* x, std::int64_t step, std::int64_t n, T* y,
                          bool add);

/// The number of elements in the widest vectors of any processor.
inline constexpr int kMostLanes = 16;

template <class T>
struct ProductTiles {
  std::int64_t lanes;                   ///< the number of elements of a vector
  std::int64_t rows;                    ///< the number of rows of the tallest tile
  bool apart;                           ///< whether tiles are faster if all their rows are one or two elements apart
  ProductTile<T> of[2][kMostTileRows];  ///< panels of one and two vectors; tiles of 1, 2 … rows
  RowSweep<T> sweep;
};

struct ProductTileSet {
  bool fused;  ///< uses fused multiply-adds, which round once: the bits differ from a rounded product and sum
  ProductTiles<float> of_float;
  ProductTiles<double> of_double;
};

/// The set for this processor.
[[nodiscard]] const ProductTileSet& product_tiles();

template <class T>
[[nodiscard]] const ProductTiles<T>& product_tiles_of();
template <>
[[nodiscard]] inline const ProductTiles<float>& product_tiles_of<float>() {
  return product_tiles().of_float;
}
template <>
[[nodiscard]] inline const ProductTiles<double>& product_tiles_of<double>() {
  return product_tiles().of_double;
}

extern const ProductTileSet ferry_product_tiles_baseline, ferry_product_tiles_v3, ferry_product_tiles_v4;

}  // namespace ferry::cpu
