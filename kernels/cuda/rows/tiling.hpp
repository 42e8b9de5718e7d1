// Divides an array among the threads of blocks, for a computation along one dim.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/shared/passes.hpp"

namespace ferry::cuda {

/// The line on which a thread works, along the middle dim of [outer, along, inner].
struct Spot {
  std::int64_t outer, inner;
  int lane;     ///< the thread's number among the threads that share the line
  bool inside;  ///< false if the array has no such line
};

/// The tiles of [outer, along, inner], each for one block. A tile has rows() * columns() lines: rows() indices of the
/// outer dim, and columns() of the inner dim. lanes() threads share each line. Neighbouring threads work on
/// neighbouring columns, then on neighbouring elements of a line.
struct Tiling {
  std::int64_t outer, along, inner;
  int column_bits, lane_bits;  ///< binary logarithms of the numbers of columns and lanes

  [[nodiscard]] constexpr int columns() const { return 1 << column_bits; }
  [[nodiscard]] constexpr int lanes() const { return 1 << lane_bits; }
  [[nodiscard]] constexpr int rows() const { return kThreads >> (column_bits + lane_bits); }
  [[nodiscard]] constexpr std::int64_t tiles_across() const { return (inner + columns() - 1) / columns(); }
  [[nodiscard]] constexpr std::int64_t tiles() const { return (outer + rows() - 1) / rows() * tiles_across(); }

  [[nodiscard]] FERRY_DEVICE Spot spot(std::int64_t tile, int thread) const {
    const std::int64_t across = tiles_across();
    const std::int64_t down = across == 1 ? tile : tile / across;
    const std::int64_t row = down * rows() + (thread >> (column_bits + lane_bits));
    const std::int64_t column = (tile - down * across) * columns() + (thread & (columns() - 1));
    return {row, column, (thread >> column_bits) & (lanes() - 1), row < outer && column < inner};
  }
  /// The offset of the first element of the thread's line. The elements of a line are `inner` elements apart.
  [[nodiscard]] FERRY_DEVICE std::int64_t first(const Spot& spot) const {
    return spot.outer * along * inner + spot.inner;
  }
};

/// The smallest b with 2^b >= n, but at most `most`.
constexpr int bits_for(std::int64_t n, int most) {
  int bits = 0;
  while (bits < most && (std::int64_t{1} << bits) < n) ++bits;
  return bits;
}

/// Tiles in which a thread has about `serial` elements of its line, or more if a block has too few threads.
inline Tiling tiling_of(const Pass& pass, std::int64_t serial) {
  constexpr int kThreadBits = std::countr_zero(static_cast<unsigned>(kThreads));
  constexpr int kWarpBits = std::countr_zero(static_cast<unsigned>(kWarp));
  const int least_columns = bits_for(pass.inner, kWarpBits);  // so that a warp reads consecutive elements
  const int lanes = bits_for((pass.along + serial - 1) / serial, kThreadBits - least_columns);
  return {pass.outer, pass.along, pass.inner, bits_for(pass.inner, kThreadBits - lanes), lanes};
}

/// Joins get(i) for i = first, first + step … below `last`. Four results are kept and joined at the end. So an element
/// can be read before the previous elements are joined, and the rounding error of a sum is smaller.
template <class Value, class Get, class Join>
FERRY_DEVICE Value fold_strided(std::int64_t first, std::int64_t last, std::int64_t step, Value start, const Get& get,
                                const Join& join) {
  constexpr int kApart = 4;
  Value values[kApart] = {start, start, start, start};
  std::int64_t i = first;
  for (; i + (kApart - 1) * step < last; i += kApart * step)
    for (int k = 0; k < kApart; ++k) values[k] = join(values[k], get(i + k * step));
  for (; i < last; i += step) values[0] = join(values[0], get(i));
  return join(join(values[0], values[1]), join(values[2], values[3]));
}

/// Joins the values of the lanes of each line, and returns the result to each lane. `room` has an element for each
/// thread of the block.
template <class Value, class Join>
FERRY_DEVICE Value join_lanes(const Block& block, const Tiling& tiling, int lane, Value value, Value* room,
                              const Join& join) {
  if (tiling.lane_bits == 0) return value;
  Value* const mine = room + block.thread();
  *mine = value;
  for (int half = tiling.lanes() / 2; half > 0; half /= 2) {
    block.sync();
    if (lane < half) *mine = join(*mine, mine[half << tiling.column_bits]);
  }
  block.sync();
  value = mine[-(lane << tiling.column_bits)];
  block.sync();  // afterwards the caller may use `room` again
  return value;
}

}  // namespace ferry::cuda
