// The innermost loops of products of matrices: a few rows times a panel of columns, the sums in registers. They are
// built once for each instruction set, and the processor's best is taken by all levels of kernels.
#pragma once

#include <cstdint>

namespace ferry::cpu {

inline constexpr int kMostTileRows = 8;

/// Of a tile's rows that lie `step` apart.
struct EvenPlaces {
  explicit EvenPlaces(std::int64_t step) {
    for (int r = 0; r < kMostTileRows; ++r) at[r] = r * step;
  }
  std::int64_t at[kMostTileRows];
};

/// One of the products that a sum adds up: where x has its factor, and the panel.
struct ProductStep {
  std::int64_t offset;  ///< from the place of a tile's row
  std::int64_t row;     ///< of the panel
};

/// c[c_places[r] + v] = sum over i < k of x[places[r] + steps[i].offset] * panel[steps[i].row, v], for the rows r of a
/// tile and the columns v of a panel, which lies without gaps. `add`: the sum begins with c. Summed in the order of i,
/// whatever the tile's size: so no cut into tiles changes a bit.
template <class T>
using ProductTile = void (*)(std::int64_t k, const T* x, const std::int64_t* places, const ProductStep* steps,
                             const T* panel, T* c, const std::int64_t* c_places, bool add);

template <class T>
struct ProductTiles {
  std::int64_t lanes;                   ///< of a vector
  std::int64_t rows;                    ///< of the largest tile
  ProductTile<T> of[2][kMostTileRows];  ///< panels of one and two vectors; tiles of 1, 2 … rows
};

struct ProductTileSet {
  bool fused;  ///< by multiply-adds that round once: other bits than those that round twice
  ProductTiles<float> of_float;
  ProductTiles<double> of_double;
};

/// This processor's.
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
