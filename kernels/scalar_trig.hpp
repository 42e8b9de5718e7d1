// Trigonometric and hyperbolic functions of one number and their inverses, written once for the CPU and CUDA.
//
// As those of scalar_math.hpp they give the same bits from every compiler and on every machine, but for sin, cos and
// tan of numbers beyond 2^28, which are libm's. Computed in float64 for both types; errors there are below 4 units in
// the last place. Algorithms and coefficients: S. L. Moshier, Cephes Mathematical Library 2.8 (netlib.org/cephes);
// log1p: W. Kahan's formula as in the HP-15C Advanced Functions Handbook.
#pragma once

#include "kernels/scalar_math.hpp"

namespace ferry::math {

inline constexpr double kPiHalf = 1.57079632679489661923;

/// x = quadrant * pi/2 + rest, with the rest in about [-pi/4, pi/4]. |x| below 2^28.
struct Quadrant {
  std::int64_t quadrant;
  double rest;
};

FERRY_HD constexpr Quadrant quadrant_of(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, in the low bits
  const double shifted = x * 0.63661977236758134308 + kRound;
  const double n = shifted - kRound;
  // pi/2 in three parts, of which the first two have so few bits that their products with n are exact.
  const double rest =
      ((x - n * 1.57079625129699707031) - n * 7.54978941586159635336e-8) - n * 5.39030285815811905290e-15;
  return {std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kRound), rest};
}

/// sin and cos in [-pi/4, pi/4].
FERRY_HD constexpr double sin_near(double x) {
  const double z = x * x;
  constexpr double kP[] = {1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
                           -1.98412698295895385996e-4, 8.33333333332211858878e-3,  -1.66666666666666307295e-1};
  return x + x * z * polynomial(z, kP);
}
FERRY_HD constexpr double cos_near(double x) {
  const double z = x * x;
  constexpr double kP[] = {-1.13585365213876817300e-11, 2.08757008419747316778e-9,  -2.75573141792967388112e-7,
                           2.48015872888517045348e-5,   -1.38888888888730564116e-3, 4.16666666666665929218e-2};
  return 1.0 - 0.5 * z + z * z * polynomial(z, kP);
}

/// sin(x + quarters * pi/2).
FERRY_HD constexpr double sin_shifted(double x, std::int64_t quarters) {
  const auto [quadrant, rest] = quadrant_of(x);
  const std::int64_t place = quadrant + quarters;
  const double y = (place & 1) != 0 ? cos_near(rest) : sin_near(rest);
  return (place & 2) != 0 ? -y : y;
}

/// Where quadrant_of is exact enough; infinities and NaN are not there.
FERRY_HD constexpr bool is_near(double x) {
  return x > -268435456.0 && x < 268435456.0;
}

FERRY_HD inline double sin(double x) {
  return is_near(x) ? sin_shifted(x, 0) : std::sin(x);
}
FERRY_HD inline double cos(double x) {
  return is_near(x) ? sin_shifted(x, 1) : std::cos(x);
}
FERRY_HD inline double tan(double x) {
  if (!is_near(x)) return std::tan(x);
  const auto [quadrant, rest] = quadrant_of(x);
  const double s = sin_near(rest);
  const double c = cos_near(rest);
  return (quadrant & 1) != 0 ? -c / s : s / c;
}

FERRY_HD constexpr double atan(double x) {
  const double size = x < 0 ? -x : x;
  const bool large = size > 2.41421356237309504880;  // tan(3/8 pi)
  const bool middle = !large && size > 0.66;
  const double r = large ? -1.0 / size : (middle ? (size - 1.0) / (size + 1.0) : size);
  constexpr double kP[] = {-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
                           -1.228866684490136173410e2, -6.485021904942025371773e1};
  constexpr double kQ[] = {1.0,
                           2.485846490142306297962e1,
                           1.650270098316988542046e2,
                           4.328810604912902668951e2,
                           4.853903996359136964868e2,
                           1.945506571482613964425e2};
  constexpr double kRest = 6.123233995736765886130e-17;  // pi/2 beyond float64
  const double z = r * r;
  const double near = r * (z * polynomial(z, kP) / polynomial(z, kQ)) + r;
  const double y = large ? kPiHalf + (near + kRest) : (middle ? 0.5 * kPiHalf + (near + 0.5 * kRest) : near);
  return x < 0 ? -y : y;
}
FERRY_HD inline double asin(double x) {
  return atan(x / std::sqrt((1.0 - x) * (1.0 + x)));
}
FERRY_HD inline double acos(double x) {
  return 2.0 * atan(std::sqrt((1.0 - x) / (1.0 + x)));
}

FERRY_HD constexpr double log1p(double x) {
  const double sum = 1.0 + x;
  return sum == 1.0 || sum == kInf<double> ? x : log(sum) * (x / (sum - 1.0));
}

FERRY_HD constexpr double sinh(double x) {
  const double size = x < 0 ? -x : x;
  const double half = exp(0.5 * size);
  const double large = size > 700.0 ? 0.5 * half * half : 0.5 * exp(size) - 0.5 / exp(size);
  const double z = x * x;
  constexpr double kP[] = {-7.89474443963537015605e-1, -1.63725857525983828727e2, -1.15614435765005216044e4,
                           -3.51754964808151394800e5};
  constexpr double kQ[] = {1.0, -2.77711081420602794433e2, 3.61578279834431989373e4, -2.11052978884890840399e6};
  const double small = x + x * z * (polynomial(z, kP) / polynomial(z, kQ));
  return size <= 1.0 ? small : (x < 0 ? -large : large);
}
FERRY_HD constexpr double cosh(double x) {
  const double size = x < 0 ? -x : x;
  const double half = exp(0.5 * size);
  return size > 700.0 ? 0.5 * half * half : 0.5 * exp(size) + 0.5 / exp(size);
}
FERRY_HD inline double asinh(double x) {
  const double size = x < 0 ? -x : x;
  constexpr double kLogTwo = 0.693147180559945309417;
  const double y = size > 1e9 ? log(size) + kLogTwo : log1p(size + size * size / (1.0 + std::sqrt(1.0 + size * size)));
  return x < 0 ? -y : (size == 0.0 ? x : y);
}
FERRY_HD inline double acosh(double x) {
  constexpr double kLogTwo = 0.693147180559945309417;
  const double over = x - 1.0;
  return x > 1e9 ? log(x) + kLogTwo : log1p(over + std::sqrt(over * (over + 2.0)));
}
FERRY_HD constexpr double atanh(double x) {
  const double size = x < 0 ? -x : x;
  const double y = 0.5 * log1p(2.0 * size / (1.0 - size));
  return x < 0 ? -y : y;
}

}  // namespace ferry::math
