#include "kernels/cpu/integer/byte_tile.hpp"

#include "base/system/fetch.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace ferry::cpu {
namespace {

#if defined(__AVX512BW__)
constexpr int kVectorBytes = 64, kRows = 8;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kRows = 4;
#else
constexpr int kVectorBytes = 16, kRows = 4;
#endif
constexpr int kAhead = 2048;  // bytes to prefetch ahead, since the hardware prefetches only within a page
constexpr int kLanes = kVectorBytes / kTogether, kVectors = 2;

using Sums [[gnu::vector_size(kVectorBytes), gnu::aligned(4), gnu::may_alias]] = std::int32_t;
using Shorts [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = std::int16_t;
using UnsignedShorts [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = std::uint16_t;

/// The numbers of four terms of each column, and of a row.
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

/// Bytes at even and at odd places, as numbers of 16 bits.
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

/// The part of a tile that has `rows` rows and kVectors vectors of columns.
template <int rows>
void block(std::int64_t steps, const std::int8_t* row, std::int64_t row_step, const std::uint8_t* panel,
           std::int32_t* to) {
  Sums sums[rows][kVectors] = {};
  for (std::int64_t i = 0; i < steps; ++i, row += kTogether, panel += kPanelColumns * kTogether) {
    for (int line = 0; line < kPanelColumns * kTogether; line += 64) fetch_to_read(panel + kAhead + line);
    const Sums* const bytes = reinterpret_cast<const Sums*>(panel);
    const Columns columns[kVectors] = {Columns(bytes[0]), Columns(bytes[1])};
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, row + r * row_step, sizeof four);
      const Factor factor(four);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) add_products(sums[r][v], columns[v], factor);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) reinterpret_cast<Sums*>(to + r * kPanelColumns)[v] = sums[r][v];
}

template <int rows>
void across(std::int64_t steps, const std::int8_t* row, std::int64_t row_step, const std::uint8_t* panel,
            std::int32_t* to) {
  for (int column = 0; column < kPanelColumns; column += kVectors * kLanes)
    block<rows>(steps, row, row_step, panel + column * kTogether, to + column);
}

}  // namespace

void FERRY_BYTE_TILE(int count, std::int64_t steps, const std::int8_t* rows, std::int64_t row_step,
                     const std::uint8_t* panel, std::int32_t* sums) {
  const auto next = [&]<int size>() {
    for (; count >= size; count -= size, rows += size * row_step, sums += size * kPanelColumns)
      across<size>(steps, rows, row_step, panel, sums);
  };
  next.template operator()<kRows>();
  next.template operator()<4>();
  next.template operator()<2>();
  next.template operator()<1>();
}

}  // namespace ferry::cpu
