#include "kernels/cpu/integer/byte_product.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cpu/parallel.hpp"

namespace ferry::cpu {
namespace {

constexpr std::uint8_t kFlip = 128;  // makes a signed number an unsigned one and back, 128 more or less

std::int64_t steps_of(std::int64_t k) {
  return (k + kTogether - 1) / kTogether;
}

constexpr int kRow = 16;
using Bytes [[gnu::vector_size(kRow)]] = std::uint8_t;

/// `size` bytes of a and as many of b in turn, from their halves number `half`.
template <std::size_t size, std::size_t half, std::size_t... at>
Bytes zipped(Bytes a, Bytes b, std::index_sequence<at...>) {
  return __builtin_shufflevector(
      a, b, static_cast<int>(half * kRow / 2 + at / (2 * size) * size + at % size + at / size % 2 * kRow)...);
}

/// Adds the numbers of each column of four rows to its sum.
void add_to(std::uint32_t* sums, const Bytes (&rows)[kTogether]) {
  std::uint16_t four[kRow];
  for (int v = 0; v < kRow; ++v)
    four[v] = static_cast<std::uint16_t>((rows[0][v] + rows[1][v]) + (rows[2][v] + rows[3][v]));
  for (int v = 0; v < kRow; ++v) sums[v] += four[v];
}

}  // namespace

void pack_rows(Parallel& parallel, std::int64_t rows, std::int64_t k, DType dtype, const std::byte* from,
               std::byte* to) {
  const std::uint8_t flip = dtype == DType::int8 ? 0 : kFlip;
  const std::int64_t step = packed_row(k), whole = steps_of(k) * kTogether;
  for_chunks(parallel, rows, grain_of(k), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto* const row = reinterpret_cast<const std::uint8_t*>(from) + r * k;
      auto* const packed = reinterpret_cast<std::int8_t*>(to) + r * step;
      std::uint32_t sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        packed[i] = static_cast<std::int8_t>(row[i] ^ flip);
        sum += static_cast<std::uint32_t>(packed[i]);
      }
      std::fill(packed + k, packed + whole, std::int8_t{0});
      *reinterpret_cast<std::uint32_t*>(packed + whole) = sum;
    }
  });
}

PanelPacker::PanelPacker(std::int64_t k, DType dtype, std::byte* panel)
    : left_(k),
      flip_(dtype == DType::int8 ? kFlip : 0),
      to_(reinterpret_cast<std::uint8_t*>(panel)),
      sums_(reinterpret_cast<std::uint32_t*>(panel + steps_of(k) * kTogether * kPanelColumns)) {
  std::fill_n(sums_, kPanelColumns, 0U);
}

void PanelPacker::add(const std::uint8_t* rows, std::int64_t step, int columns) {
  std::uint8_t padded[kTogether * kPanelColumns];
  if (columns < kPanelColumns || left_ < kTogether) {
    std::fill(std::begin(padded), std::end(padded), flip_);
    for (std::int64_t j = 0; j < std::min<std::int64_t>(left_, kTogether); ++j)
      std::copy_n(rows + j * step, columns, padded + j * kPanelColumns);
    rows = padded;
    step = kPanelColumns;
  }
  constexpr auto kPlaces = std::make_index_sequence<kRow>();
  std::uint8_t* to = to_;
  for (int v = 0; v < kPanelColumns; v += kRow) {
    Bytes row[kTogether];
#pragma GCC unroll 4
    for (int j = 0; j < kTogether; ++j) {
      __builtin_memcpy(&row[j], rows + j * step + v, kRow);
      row[j] ^= flip_;
    }
    add_to(sums_ + v, row);
    const Bytes first[2] = {zipped<1, 0>(row[0], row[1], kPlaces), zipped<1, 1>(row[0], row[1], kPlaces)};
    const Bytes last[2] = {zipped<1, 0>(row[2], row[3], kPlaces), zipped<1, 1>(row[2], row[3], kPlaces)};
    for (int half = 0; half < 2; ++half, to += 2 * kRow) {
      const Bytes low = zipped<2, 0>(first[half], last[half], kPlaces);
      const Bytes high = zipped<2, 1>(first[half], last[half], kPlaces);
      __builtin_memcpy(to, &low, kRow);
      __builtin_memcpy(to + kRow, &high, kRow);
    }
  }
  to_ = to;
  left_ -= kTogether;
}

void pack_panel(std::int64_t k, std::int64_t n, DType dtype, const std::byte* matrix, std::int64_t first,
                std::byte* panel) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(matrix) + first;
  const auto columns = static_cast<int>(std::min<std::int64_t>(kPanelColumns, n - first));
  PanelPacker packer(k, dtype, panel);
  for (std::int64_t i = 0; i < k; i += kTogether) packer.add(from + i * n, n, columns);
}

void multiply_panel(std::int64_t rows, std::int64_t k, int columns, const std::byte* packed_rows,
                    const std::byte* panel, const ZeroPoints& row_zeros, const ZeroPoints& column_zeros,
                    std::int32_t* c, std::int64_t c_step) {
  const ByteTile tile = byte_tile();
  const std::int64_t steps = steps_of(k), row_step = packed_row(k), whole = steps * kTogether;
  const auto* const column_sums = reinterpret_cast<const std::uint32_t*>(panel + whole * kPanelColumns);
  std::uint32_t zeros[kPanelColumns], centred[kPanelColumns];  // sums of the columns' numbers minus their zeros
  for (int v = 0; v < columns; ++v) {
    zeros[v] = static_cast<std::uint32_t>(column_zeros.among_unsigned(v));
    centred[v] = column_sums[v] - static_cast<std::uint32_t>(k) * zeros[v];
  }
  alignas(64) std::int32_t sums[kMostByteRows * kPanelColumns];
  for (std::int64_t first = 0; first < rows; first += kMostByteRows) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kMostByteRows, rows - first));
    const std::byte* const packed = packed_rows + first * row_step;
    tile(count, steps, reinterpret_cast<const std::int8_t*>(packed), row_step,
         reinterpret_cast<const std::uint8_t*>(panel), sums);
    for (int r = 0; r < count; ++r) {
      const auto zero = static_cast<std::uint32_t>(row_zeros.among_signed(first + r));
      const std::uint32_t sum = *reinterpret_cast<const std::uint32_t*>(packed + r * row_step + whole);
      const std::int32_t* const from = sums + r * kPanelColumns;
      std::int32_t* const to = c + (first + r) * c_step;
#pragma omp simd
      for (int v = 0; v < columns; ++v)
        to[v] = static_cast<std::int32_t>(static_cast<std::uint32_t>(from[v]) - zero * centred[v] - sum * zeros[v]);
    }
  }
}

}  // namespace ferry::cpu
