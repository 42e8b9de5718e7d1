#include "kernels/cpu/integer/byte_loops.hpp"

#include <utility>

#include "kernels/cpu/vector_bytes.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace ferry::cpu {
namespace {

constexpr int kRows = kVectorBytes == 64 ? 8 : 4;  // rows of a block, limited by the number of registers
constexpr int kLanes = kVectorBytes / kTogether, kVectors = 2;

using Sums [[gnu::vector_size(kVectorBytes), gnu::aligned(4), gnu::may_alias]] = std::int32_t;
using Shorts [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = std::int16_t;
using UnsignedShorts [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = std::uint16_t;

/// Columns has four numbers of each column, Factor four numbers of a row.
#ifdef __AVX512VNNI__
struct Columns {
  explicit Columns(Sums bytes) : all(bytes) {}
  Sums all;
};
struct Factor {
  explicit Factor(std::int32_t bytes) : all(Sums{} + bytes) {}
  Sums all;
};

void add_products(Sums& sums, const Columns& columns, const Factor& factor) {
  sums = reinterpret_cast<Sums>(_mm512_dpbusd_epi32(
      reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(columns.all), reinterpret_cast<__m512i>(factor.all)));
}
#else
/// a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1] for each i.
Sums pairs(Shorts a, Shorts b) {
#if defined(__AVX512BW__)
  return reinterpret_cast<Sums>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Sums>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__x86_64__)
  return reinterpret_cast<Sums>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  const Sums both_a = reinterpret_cast<Sums>(a), both_b = reinterpret_cast<Sums>(b);
  return (both_a >> 16) * (both_b >> 16) + ((both_a << 16) >> 16) * ((both_b << 16) >> 16);
#endif
}

/// Columns and Factor have the bytes at even and at odd places, as 16-bit numbers.
struct Columns {
  explicit Columns(Sums bytes)
      : even(reinterpret_cast<Shorts>(bytes) & 255),
        odd(reinterpret_cast<Shorts>(reinterpret_cast<UnsignedShorts>(bytes) >> 8)) {}
  Shorts even, odd;
};
struct Factor {
  explicit Factor(std::int32_t bytes) {
    const Shorts both = reinterpret_cast<Shorts>(Sums{} + bytes);
    even = (both << 8) >> 8;
    odd = both >> 8;
  }
  Shorts even, odd;
};

void add_products(Sums& sums, const Columns& columns, const Factor& factor) {
  sums += pairs(columns.even, factor.even) + pairs(columns.odd, factor.odd);
}
#endif

/// Computes the part of a tile that has `rows` rows and kVectors vectors of columns. If there are few rows, the steps
/// alternate between several sums. Else each product would wait for the product before it.
template <int rows>
void block(std::int64_t steps, const std::int8_t* row, std::int64_t row_step, const std::uint8_t* panel,
           std::int32_t* to) {
  constexpr int kTurns = rows < 4 ? 4 / rows : 1;
  Sums sums[kTurns][rows][kVectors] = {};
  const auto add = [&](int turn) {
    const Sums* const bytes = reinterpret_cast<const Sums*>(panel);
    const Columns columns[kVectors] = {Columns(bytes[0]), Columns(bytes[1])};
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, row + r * row_step, sizeof four);
      const Factor factor(four);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) add_products(sums[turn][r][v], columns[v], factor);
    }
    row += kTogether;
    panel += kPanelColumns * kTogether;
  };
  for (; steps >= kTurns; steps -= kTurns)
#pragma GCC unroll 4
    for (int turn = 0; turn < kTurns; ++turn) add(turn);
  for (; steps > 0; --steps) add(0);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
      for (int turn = 1; turn < kTurns; ++turn) sums[0][r][v] += sums[turn][r][v];
      reinterpret_cast<Sums*>(to + r * kPanelColumns)[v] = sums[0][r][v];
    }
}

template <int rows>
void multiply_rows(std::int64_t steps, const std::int8_t* row, std::int64_t row_step, const std::uint8_t* panel,
                   std::int32_t* to) {
  for (int column = 0; column < kPanelColumns; column += kVectors * kLanes)
    block<rows>(steps, row, row_step, panel + column * kTogether, to + column);
}

void multiply(int count, std::int64_t steps, const std::int8_t* rows, std::int64_t row_step, const std::uint8_t* panel,
              std::int32_t* sums) {
  const auto next = [&]<int size>() {
    for (; count >= size; count -= size, rows += size * row_step, sums += size * kPanelColumns)
      multiply_rows<size>(steps, rows, row_step, panel, sums);
  };
  next.template operator()<kRows>();
  next.template operator()<4>();
  next.template operator()<2>();
  next.template operator()<1>();
}

constexpr int kRow = 16;
using Bytes [[gnu::vector_size(kRow)]] = std::uint8_t;

/// Returns `size` bytes of a and `size` bytes of b in turn, from the first (half = 0) or second half of both.
template <std::size_t size, std::size_t half, std::size_t... at>
Bytes interleaved(Bytes a, Bytes b, std::index_sequence<at...>) {
  return __builtin_shufflevector(
      a, b, static_cast<int>(half * kRow / 2 + at / (2 * size) * size + at % size + at / size % 2 * kRow)...);
}

/// Adds the four numbers of each column to the column's sum.
void add_to(std::uint32_t* sums, const Bytes (&rows)[kTogether]) {
  std::uint16_t four[kRow];
  for (int v = 0; v < kRow; ++v)
    four[v] = static_cast<std::uint16_t>((rows[0][v] + rows[1][v]) + (rows[2][v] + rows[3][v]));
  for (int v = 0; v < kRow; ++v) sums[v] += four[v];
}

void pack(const std::uint8_t* rows, std::int64_t step, std::uint8_t flip, std::uint8_t* to, std::uint32_t* sums) {
  constexpr auto kPlaces = std::make_index_sequence<kRow>();
  for (int v = 0; v < kPanelColumns; v += kRow) {
    Bytes row[kTogether];
#pragma GCC unroll 4
    for (int j = 0; j < kTogether; ++j) {
      __builtin_memcpy(&row[j], rows + j * step + v, kRow);
      row[j] ^= flip;
    }
    add_to(sums + v, row);
    const Bytes first[2] = {interleaved<1, 0>(row[0], row[1], kPlaces), interleaved<1, 1>(row[0], row[1], kPlaces)};
    const Bytes last[2] = {interleaved<1, 0>(row[2], row[3], kPlaces), interleaved<1, 1>(row[2], row[3], kPlaces)};
    for (int half = 0; half < 2; ++half, to += 2 * kRow) {
      const Bytes low = interleaved<2, 0>(first[half], last[half], kPlaces);
      const Bytes high = interleaved<2, 1>(first[half], last[half], kPlaces);
      __builtin_memcpy(to, &low, kRow);
      __builtin_memcpy(to + kRow, &high, kRow);
    }
  }
}

std::uint32_t pack_row(std::int64_t k, const std::uint8_t* from, std::uint8_t flip, std::int8_t* to) {
  std::uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < k; ++i) {
    to[i] = static_cast<std::int8_t>(from[i] ^ flip);
    sum += static_cast<std::uint32_t>(to[i]);
  }
  return sum;
}

void subtract_zero_points(int columns, std::uint32_t k, const std::int32_t* sums, std::uint32_t zero,
                          const std::uint32_t* column_sums, std::uint32_t sum, const std::uint32_t* zeros,
                          std::int32_t* to) {
#pragma omp simd
  for (int v = 0; v < columns; ++v) {
    const std::uint32_t share = zero * (column_sums[v] - k * zeros[v]) + sum * zeros[v];
    to[v] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[v]) - share);
  }
}

}  // namespace

constexpr ByteLoops FERRY_BYTE_LOOPS = {multiply, pack, pack_row, subtract_zero_points};

}  // namespace ferry::cpu
