// The innermost loop of products of 8-bit integers: a few rows of signed numbers times a panel of columns of unsigned
// ones, four terms at a time, with 32-bit sums in registers. It is built once for each instruction set; all give the
// same bits.
#pragma once

#include <cstdint>

namespace ferry::cpu {

inline constexpr int kPanelColumns = 32;
inline constexpr int kTogether = 4;      ///< terms that are multiplied and added at once
inline constexpr int kMostByteRows = 8;  ///< of a tile

/// sums[r * kPanelColumns + v] = sum over i < steps and j < kTogether of rows[r * row_step + i * kTogether + j] *
/// panel[(i * kPanelColumns + v) * kTogether + j], modulo 2^32, for r < count and v < kPanelColumns. count <=
/// kMostByteRows.
using ByteTile = void (*)(int count, std::int64_t steps, const std::int8_t* rows, std::int64_t row_step,
                          const std::uint8_t* panel, std::int32_t* sums);

/// The one for this processor.
[[nodiscard]] ByteTile byte_tile();

void ferry_byte_tile_baseline(int, std::int64_t, const std::int8_t*, std::int64_t, const std::uint8_t*, std::int32_t*);
void ferry_byte_tile_v3(int, std::int64_t, const std::int8_t*, std::int64_t, const std::uint8_t*, std::int32_t*);
void ferry_byte_tile_v4(int, std::int64_t, const std::int8_t*, std::int64_t, const std::uint8_t*, std::int32_t*);
void ferry_byte_tile_vnni(int, std::int64_t, const std::int8_t*, std::int64_t, const std::uint8_t*, std::int32_t*);

}  // namespace ferry::cpu
