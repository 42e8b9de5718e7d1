// The innermost loops of products of 8-bit integers. Rows of signed numbers are multiplied by panels of columns of
// unsigned numbers, four terms at a time, with 32-bit sums in registers. The loops are built once for each instruction
// set; all give the same bits.
#pragma once

#include <cstdint>

namespace ferry::cpu {

inline constexpr int kPanelColumns = 32;
inline constexpr int kTogether = 4;      ///< terms that are multiplied and added at once
inline constexpr int kMostByteRows = 8;  ///< the most rows of a tile

struct ByteLoops {
  /// sums[r * kPanelColumns + v] = sum over i < steps and j < kTogether of rows[r * row_step + i * kTogether + j] *
  /// panel[(i * kPanelColumns + v) * kTogether + j], modulo 2^32, for r < count and v < kPanelColumns. count <=
  /// kMostByteRows.
  void (*multiply)(int count, std::int64_t steps, const std::int8_t* rows, std::int64_t row_step,
                   const std::uint8_t* panel, std::int32_t* sums);
  /// Packs kTogether rows, `step` apart, as one step of a panel: to[v * kTogether + j] = rows[j * step + v] ^ flip.
  /// Adds the kTogether numbers of each column to sums[v].
  void (*pack)(const std::uint8_t* rows, std::int64_t step, std::uint8_t flip, std::uint8_t* to, std::uint32_t* sums);
  /// Packs a row: to[i] = from[i] ^ flip for i < k. Returns the sum of the row, modulo 2^32.
  std::uint32_t (*pack_row)(std::int64_t k, const std::uint8_t* from, std::uint8_t flip, std::int8_t* to);
  /// to[v] = sums[v] - zero * (column_sums[v] - k * zeros[v]) - sum * zeros[v] modulo 2^32, for v < columns. This
  /// removes the contribution of the zero points from a row's sums of k products.
  void (*subtract_zero_points)(int columns, std::uint32_t k, const std::int32_t* sums, std::uint32_t zero,
                               const std::uint32_t* column_sums, std::uint32_t sum, const std::uint32_t* zeros,
                               std::int32_t* to);
};

/// The best loops that this processor can run, for kernels of that level (processor.hpp).
[[nodiscard]] const ByteLoops& byte_loops_of(int level);

extern const ByteLoops ferry_byte_loops_baseline, ferry_byte_loops_v3, ferry_byte_loops_v4, ferry_byte_loops_vnni;

}  // namespace ferry::cpu
