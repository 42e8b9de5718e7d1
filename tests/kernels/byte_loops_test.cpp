// The loops of products of 8-bit integers, of each instruction set that this processor has.
#include "kernels/cpu/integer/byte_loops.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tests/support/dice.hpp"

namespace ferry::cpu {
namespace {

/// A byte; often one of the ends of a range.
std::uint8_t byte_of(test::Dice& dice) {
  constexpr std::uint8_t kEnds[] = {0, 127, 128, 255};
  return dice.below(3) == 0 ? kEnds[dice.below(4)] : static_cast<std::uint8_t>(dice.below(256));
}

TEST_CASE("sums of products of bytes are exact by any instruction set") {
  test::Dice dice(1);
  for (const int steps : {0, 1, 2, 7, 33})
    for (int count = 1; count <= kMostByteRows; ++count) {
      const std::int64_t row_step = steps * kTogether + 3;
      std::vector<std::int8_t> rows(static_cast<std::size_t>(count * row_step + 4));
      std::vector<std::uint8_t> panel(static_cast<std::size_t>(steps * kTogether * kPanelColumns + 4));
      for (auto& byte : rows) byte = static_cast<std::int8_t>(byte_of(dice));
      for (auto& byte : panel) byte = byte_of(dice);
      std::vector<std::int32_t> wanted;
      for (int r = 0; r < count; ++r)
        for (int v = 0; v < kPanelColumns; ++v) {
          std::int32_t sum = 0;
          for (int i = 0; i < steps; ++i)
            for (int j = 0; j < kTogether; ++j)
              sum += rows[static_cast<std::size_t>(r * row_step + i * kTogether + j)] *
                     panel[static_cast<std::size_t>((i * kPanelColumns + v) * kTogether + j)];
          wanted.push_back(sum);
        }
      for (const ByteLoops* loops : all_byte_loops()) {
        std::vector<std::int32_t> sums(wanted.size() + 1, -1);
        loops->multiply(count, steps, rows.data(), row_step, panel.data(), sums.data());
        CHECK(sums.back() == -1);
        sums.pop_back();
        CHECK(sums == wanted);
      }
    }
}

TEST_CASE("rows of bytes are packed, and added up, by any instruction set") {
  test::Dice dice(2);
  for (const std::uint8_t flip : {std::uint8_t{0}, std::uint8_t{128}}) {
    constexpr std::int64_t kStep = kPanelColumns + 5;
    std::vector<std::uint8_t> rows(kTogether * kStep);
    for (auto& byte : rows) byte = byte_of(dice);
    for (const ByteLoops* loops : all_byte_loops()) {
      std::vector<std::uint8_t> packed(kTogether * kPanelColumns);
      std::vector<std::uint32_t> sums(kPanelColumns, 5);
      loops->pack(rows.data(), kStep, flip, packed.data(), sums.data());
      for (std::size_t v = 0; v < kPanelColumns; ++v) {
        std::uint32_t sum = 5;
        for (std::size_t j = 0; j < kTogether; ++j) {
          const std::uint8_t byte = rows[j * kStep + v] ^ flip;
          CHECK(packed[v * kTogether + j] == byte);
          sum += byte;
        }
        CHECK(sums[v] == sum);
      }
    }
  }
}

TEST_CASE("zero points are taken out of sums modulo 2^32 by any instruction set") {
  std::vector<std::int32_t> sums(kPanelColumns);
  std::vector<std::uint32_t> centred(kPanelColumns), zeros(kPanelColumns);
  for (std::uint32_t v = 0; v < kPanelColumns; ++v) {
    sums[v] = std::numeric_limits<std::int32_t>::min() + static_cast<std::int32_t>(v);
    centred[v] = 4000000000U + v;
    zeros[v] = 255 - v;
  }
  for (const ByteLoops* loops : all_byte_loops())
    for (const int columns : {0, 1, 19, kPanelColumns}) {
      std::vector<std::int32_t> to(kPanelColumns, 7);
      loops->centre(columns, sums.data(), 4294967290U, centred.data(), 123456789U, zeros.data(), to.data());
      for (int v = 0; v < kPanelColumns; ++v) {
        const auto i = static_cast<std::size_t>(v);
        const std::uint32_t wanted =
            static_cast<std::uint32_t>(sums[i]) - 4294967290U * centred[i] - 123456789U * zeros[i];
        CHECK(to[i] == (v < columns ? static_cast<std::int32_t>(wanted) : 7));
      }
    }
}

}  // namespace
}  // namespace ferry::cpu
