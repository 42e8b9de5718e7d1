// Random numbers as a function: a key and a counter determine a block of four 32-bit numbers.
//
// Philox4x32-10, from J. Salmon, M. Moraes, R. Dror, D. Shaw: "Parallel random numbers: as easy as 1, 2, 3" (2011). A
// counter consists of a place (block and value) and a time (step and iteration), so any task can compute any part of a
// value with the same result.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/scalar_math.hpp"

namespace ferry {

struct Philox {
  using Block = std::array<std::uint32_t, 4>;

  std::uint64_t key = 0;
  std::uint64_t time = 0;

  /// Block number `place`.
  [[nodiscard]] FERRY_HD constexpr Block block(std::uint64_t place) const {
    Block x{static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32),
            static_cast<std::uint32_t>(time), static_cast<std::uint32_t>(time >> 32)};
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53U} * x[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * x[2];
      x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(a)};
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    return x;
  }
};

/// Uniformly distributed over [0, 1), in steps of 2^-24 (float) or 2^-53 (double).
[[nodiscard]] FERRY_HD constexpr float unit_float(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 5.9604644775390625e-8F;  // 2^-24
}
[[nodiscard]] FERRY_HD constexpr double unit_double(std::uint32_t low, std::uint32_t high) {
  return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 1.1102230246251565e-16;  // 2^-53
}

namespace math {

/// sin and cos of an angle of `turn` full turns, 0 <= turn < 1. Coefficients: Cephes, sin.c.
struct SinCos {
  double sin, cos;
};
[[nodiscard]] FERRY_HD constexpr SinCos turn(double turn) {
  const auto quarter = static_cast<int>(turn * 4 + 0.5);           // NOLINT(bugprone-incorrect-roundings): turn >= 0
  const double x = (turn * 4 - quarter) * 1.57079632679489661923;  // within 1/8 turn of a quarter
  const double z = x * x;
  constexpr double kSin[] = {1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
                             -1.98412698295895385996e-4, 8.33333333332211858878e-3,  -1.66666666666666307295e-1};
  constexpr double kCos[] = {-1.13585365213876817300e-11, 2.08757008419747316778e-9,  -2.75573141792967388112e-7,
                             2.48015872888517045348e-5,   -1.38888888888730564116e-3, 4.16666666666665929218e-2};
  const double sin = x + x * z * polynomial(z, kSin);
  const double cos = 1.0 - 0.5 * z + z * z * polynomial(z, kCos);
  switch (quarter % 4) {
    case 0:
      return {sin, cos};
    case 1:
      return {cos, -sin};
    case 2:
      return {-sin, -cos};
    default:
      return {-cos, sin};
  }
}

/// Two independent numbers of the standard normal distribution, from two uniform numbers in [0, 1): G. Box, M. Muller
/// (1958).
struct Normals {
  double first, second;
};
[[nodiscard]] FERRY_HD inline Normals box_muller(double u, double v) {
  const double radius = std::sqrt(-2.0 * log(1.0 - u));
  const auto [sin, cos] = turn(v);
  return {radius * cos, radius * sin};
}

}  // namespace math
}  // namespace ferry
