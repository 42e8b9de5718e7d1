#include "kernels/cpu/integer/byte_product.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"

namespace ferry::cpu {
namespace {

constexpr std::uint8_t kFlip = 128;  // converts between signed and unsigned numbers, by adding 128 modulo 256

std::int64_t steps_of(std::int64_t k) {
  return (k + kTogether - 1) / kTogether;
}

}  // namespace

void pack_rows(const ByteLoops& loops, Parallel& parallel, std::int64_t rows, std::int64_t k, DType dtype,
               const std::byte* from, std::byte* to) {
  const std::uint8_t flip = dtype == DType::int8 ? 0 : kFlip;
  const std::int64_t step = packed_row(k), whole = steps_of(k) * kTogether;
  for_chunks(parallel, rows, grain_of(k), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      auto* const packed = reinterpret_cast<std::int8_t*>(to) + r * step;
      *reinterpret_cast<std::uint32_t*>(packed + whole) =
          loops.pack_row(k, reinterpret_cast<const std::uint8_t*>(from) + r * k, flip, packed);
      std::fill(packed + k, packed + whole, std::int8_t{0});
    }
  });
}

PanelPacker::PanelPacker(const ByteLoops& loops, std::int64_t k, DType dtype, std::byte* panel)
    : loops_(&loops),
      left_(k),
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
  loops_->pack(rows, step, flip_, to_, sums_);
  to_ += kTogether * kPanelColumns;
  left_ -= kTogether;
}

void pack_panel(const ByteLoops& loops, std::int64_t k, std::int64_t n, DType dtype, const std::byte* matrix,
                std::int64_t first, std::byte* panel) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(matrix) + first;
  const auto columns = static_cast<int>(std::min<std::int64_t>(kPanelColumns, n - first));
  PanelPacker packer(loops, k, dtype, panel);
  for (std::int64_t i = 0; i < k; i += kTogether) packer.add(from + i * n, n, columns);
}

void multiply_panel(const ByteLoops& loops, std::int64_t rows, std::int64_t k, int columns,
                    const std::byte* packed_rows, const std::byte* panel, const ZeroPoints& row_zeros,
                    const ZeroPoints& column_zeros, std::int32_t* c, std::int64_t c_step) {
  const std::int64_t steps = steps_of(k), row_step = packed_row(k), whole = steps * kTogether;
  const auto* const column_sums = reinterpret_cast<const std::uint32_t*>(panel + whole * kPanelColumns);
  std::uint32_t zeros[kPanelColumns];
  if (column_zeros.step == 0)
    std::fill_n(zeros, kPanelColumns, static_cast<std::uint32_t>(column_zeros.as_unsigned(0)));
  else
    for (int v = 0; v < columns; ++v) zeros[v] = static_cast<std::uint32_t>(column_zeros.as_unsigned(v));
  alignas(64) std::int32_t sums[kMostByteRows * kPanelColumns];
  for (std::int64_t first = 0; first < rows; first += kMostByteRows) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kMostByteRows, rows - first));
    const std::byte* const packed = packed_rows + first * row_step;
    loops.multiply(count, steps, reinterpret_cast<const std::int8_t*>(packed), row_step,
                   reinterpret_cast<const std::uint8_t*>(panel), sums);
    for (int r = 0; r < count; ++r) {
      const auto zero = static_cast<std::uint32_t>(row_zeros.as_signed(first + r));
      const std::uint32_t sum = *reinterpret_cast<const std::uint32_t*>(packed + r * row_step + whole);
      loops.subtract_zero_points(columns, static_cast<std::uint32_t>(k), sums + r * kPanelColumns, zero, column_sums,
                                 sum, zeros, c + (first + r) * c_step);
    }
  }
}

}  // namespace ferry::cpu
