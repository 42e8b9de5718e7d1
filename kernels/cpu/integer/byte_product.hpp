// Products of matrices of 8-bit integers, exact modulo 2^32: c[r,v] = sum over k of (a[r,k] - a_zero[r]) * (b[k,v] -
// b_zero[v]). The rows of a are packed as signed numbers, the columns of b in panels as unsigned numbers. Each is
// packed with its sum, which gives the contribution of the zero points. Unsigned rows, signed columns and their zero
// points are shifted by 128.
#pragma once

#include <cstdint>

#include "kernels/cpu/integer/byte_loops.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

inline constexpr DTypeSet kBytesAndSums{DType::int8, DType::uint8, DType::int32};

/// The bytes of a packed row of k numbers: whole steps of kTogether numbers, then the row's sum.
[[nodiscard]] constexpr std::int64_t packed_row(std::int64_t k) {
  return (k + kTogether - 1) / kTogether * kTogether + static_cast<std::int64_t>(sizeof(std::int32_t));
}
/// The bytes of a packed panel of k rows: whole steps, then the sums of its columns.
[[nodiscard]] constexpr std::int64_t packed_panel(std::int64_t k) {
  return packed_row(k) * kPanelColumns;
}
[[nodiscard]] constexpr std::int64_t panels_of(std::int64_t columns) {
  return (columns + kPanelColumns - 1) / kPanelColumns;
}

/// The zero points of rows or columns: one for all, or one for each.
struct ZeroPoints {
  explicit ZeroPoints(const Array& zeros)
      : bytes(zeros.as<const std::uint8_t>()), step(zeros.count() > 1 ? 1 : 0), is_signed(zeros.dtype == DType::int8) {}
  [[nodiscard]] ZeroPoints from(std::int64_t first) const {
    ZeroPoints rest = *this;
    rest.bytes += first * step;
    return rest;
  }
  /// Zero point i for numbers packed as signed, and for numbers packed as unsigned.
  [[nodiscard]] std::int32_t as_signed(std::int64_t i) const { return as_unsigned(i) - 128; }
  [[nodiscard]] std::int32_t as_unsigned(std::int64_t i) const { return bytes[i * step] ^ (is_signed ? 128 : 0); }
  const std::uint8_t* bytes;
  std::int64_t step;
  bool is_signed;
};

/// Packs `rows` rows of k numbers, one after another. dtype is int8 or uint8.
void pack_rows(const ByteLoops& loops, Parallel& parallel, std::int64_t rows, std::int64_t k, DType dtype,
               const std::byte* from, std::byte* to);

/// Fills a panel row by row.
class PanelPacker {
 public:
  PanelPacker() = default;
  PanelPacker(const ByteLoops& loops, std::int64_t k, DType dtype, std::byte* panel);
  /// Adds the next kTogether rows, or the rows that are left: `columns` numbers each, `step` apart. Other columns
  /// become 0.
  void add(const std::uint8_t* rows, std::int64_t step, int columns);

 private:
  const ByteLoops* loops_ = nullptr;
  std::int64_t left_ = 0;
  std::uint8_t flip_ = 0;
  std::uint8_t* to_ = nullptr;
  std::uint32_t* sums_ = nullptr;
};
/// Packs the columns [first, first + kPanelColumns) of a matrix [k,n], or fewer at its end.
void pack_panel(const ByteLoops& loops, std::int64_t k, std::int64_t n, DType dtype, const std::byte* matrix,
                std::int64_t first, std::byte* panel);

/// Computes `columns` columns of c from packed rows and a packed panel. Rows of c are c_step elements apart.
void multiply_panel(const ByteLoops& loops, std::int64_t rows, std::int64_t k, int columns,
                    const std::byte* packed_rows, const std::byte* panel, const ZeroPoints& row_zeros,
                    const ZeroPoints& column_zeros, std::int32_t* c, std::int64_t c_step);

}  // namespace ferry::cpu
