// Trigonometric and hyperbolic functions of one number and their inverses, written once for the CPU and CUDA.
//
// Like the functions of scalar_math.hpp, they give the same bits from every compiler and on every machine. They compute
// in float64 also for float32; errors in float64 are below 4 units in the last place. Algorithms and coefficients: S.
// L. Moshier, Cephes Mathematical Library 2.8 (netlib.org/cephes). Angles: W. J. Cody and W. Waite, Software Manual for
// the Elementary Functions, 1980, and M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983.
// Products and sums with their rounding errors: T. J. Dekker, A floating-point technique for extending the available
// precision, 1971. log1p: W. Kahan's formula as in the HP-15C Advanced Functions Handbook.
#pragma once

#include "kernels/scalar_math.hpp"

namespace ferry::math {

inline constexpr double kPiHalf = 1.57079632679489661923;

inline constexpr double kPiHalfRest = 6.123233995736765886130e-17;  // pi/2 - kPiHalf

/// An angle as quadrant * pi/2 + rest + tail. `rest` is about in [-pi/4, pi/4]; `tail` is too small to change `rest` by
/// an addition.
struct Angle {
  std::int64_t quadrant;
  double rest, tail;
};

/// a + b or a * b, rounded, and the rounding error: value + rest is the exact result.
struct Exact {
  double value, rest;
};
FERRY_HD constexpr Exact exact_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
FERRY_HD constexpr Exact exact_product(double a, double b) {
  constexpr double kHalves = 134217729.0;  // 2^27 + 1
  const double a_high = a * kHalves - (a * kHalves - a), a_low = a - a_high;
  const double b_high = b * kHalves - (b * kHalves - b), b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

inline constexpr double kNear = 1048576.0;  // 2^20

/// The angle of x in [0, kNear].
FERRY_HD constexpr Angle near_angle(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, in the low bits
  const double shifted = x * 0.63661977236758134308 + kRound;
  const double n = shifted - kRound;
  // pi/2 in parts of 33 bits, so that their products with n are exact, and the remainder.
  const Exact second = exact_sum(x - n * 0x1.921fb544p+0, -(n * 0x1.0b4611a6p-34));
  const Exact third = exact_sum(second.value, -(n * 0x1.3198a2ep-69));
  const double low = (second.rest + third.rest) - n * 0x1.b839a252049c1p-104;
  const double rest = third.value + low;
  const std::int64_t quadrant = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kRound);
  return {quadrant, rest, (third.value - rest) + low};
}

/// The angle of a finite x above kNear. x is an integer m times a power of two, and only x * 2/pi modulo 4 is needed.
/// The function therefore multiplies m only by those bits of 2/pi that contribute to the result.
FERRY_HD constexpr Angle far_angle(double x) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kTwoOverPi[] = {
      // the binary point is after the first word
      0x0000000000000000U, 0xa2f9836e4e441529U, 0xfc2757d1f534ddc0U, 0xdb6295993c439041U, 0xfe5163abdebbc561U,
      0xb7246e3a424dd2e0U, 0x06492eea09d1921cU, 0xfe1deb1cb129a73eU, 0xe88235f52ebb4484U, 0xe99c7026b45f7e41U,
      0x3991d639835339f4U, 0x9c845f8bbdf9283bU, 0x1ff897ffde05980fU, 0xef2f118b5a0a6d1fU, 0x6d367ecf27cb09b7U,
      0x4f463f669e5fea2dU, 0x7527bac7ebe5f17bU, 0x3d0739f78a5292eaU, 0x6bfb5fb11f8d5d08U, 0x56033046fc7b6babU};
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t m = (bits & 0x000fffffffffffffU) | 0x0010000000000000U;
  // The first bit of 2/pi that matters: its product with x is 2 m. Earlier bits only add multiples of 4.
  const std::uint64_t first = (bits >> 52) - 1075 + 62;
  const std::uint64_t* const words = kTwoOverPi + first / 64;
  const std::uint64_t shift = first % 64;
  const auto word = [&](int i) { return shift == 0 ? words[i] : words[i] << shift | words[i + 1] >> (64 - shift); };
  const Wide low = static_cast<Wide>(m) * word(2);
  const Wide middle = static_cast<Wide>(m) * word(1) + (low >> 64);
  const std::uint64_t high = m * word(0) + static_cast<std::uint64_t>(middle >> 64);

  Wide fraction = static_cast<Wide>(high) << 66 | static_cast<Wide>(static_cast<std::uint64_t>(middle)) << 2 |
                  static_cast<std::uint64_t>(low) >> 62;
  const bool up = (fraction >> 127) != 0;  // the next quadrant is nearer
  fraction = up ? ~fraction + 1 : fraction;
  const int zeros = std::countl_zero(static_cast<std::uint64_t>(fraction >> 64));
  fraction <<= zeros;
  const double scale = power_of_two(static_cast<std::int64_t>(-zeros));
  const double part = scale * 0x1p-53 * static_cast<double>(static_cast<std::uint64_t>(fraction >> 75));
  const double further = scale * 0x1p-117 * static_cast<double>(static_cast<std::uint64_t>(fraction >> 11));

  const Exact product = exact_product(part, kPiHalf);
  const double beside = product.rest + (part * kPiHalfRest + further * kPiHalf);
  const double rest = product.value + beside;
  const double tail = (product.value - rest) + beside;
  return {static_cast<std::int64_t>(high >> 62) + (up ? 1 : 0), up ? -rest : rest, up ? -tail : tail};
}

/// The angle of `size`, which is |x|; NaN for infinities and NaN.
FERRY_HD constexpr Angle angle_of(double size) {
  if (size <= kNear) return near_angle(size);
  return size < kInf<double> ? far_angle(size) : Angle{0, kNaN<double>, 0};
}

/// sin_near and cos_near: sin and cos of x + tail, for x in about [-pi/4, pi/4].
FERRY_HD constexpr double sin_near(double x, double tail) {
  const double z = x * x;
  constexpr double kP[] = {1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136214857245213e-6,
                           -1.98412698295895385996e-4, 8.33333333332211858878e-3,  -1.66666666666666307295e-1};
  return x + (x * z * polynomial(z, kP) + tail * (1.0 - 0.5 * z));
}
FERRY_HD constexpr double cos_near(double x, double tail) {
  const double z = x * x;
  constexpr double kP[] = {-1.13585365213876817300e-11, 2.08757008419747316778e-9,  -2.75573141792967388112e-7,
                           2.48015872888517045348e-5,   -1.38888888888730564116e-3, 4.16666666666665929218e-2};
  const double y = 1.0 - 0.5 * z;
  return y + (((1.0 - y) - 0.5 * z) + (z * z * polynomial(z, kP) - x * tail));
}

/// sin(size + quarters * pi/2) for size >= 0.
FERRY_HD constexpr double sin_shifted(double size, std::int64_t quarters) {
  const Angle angle = angle_of(size);
  const std::int64_t place = angle.quadrant + quarters;
  const double y = (place & 1) != 0 ? cos_near(angle.rest, angle.tail) : sin_near(angle.rest, angle.tail);
  return (place & 2) != 0 ? -y : y;
}

FERRY_HD constexpr double sin(double x) {
  const double y = sin_shifted(magnitude(x), 0);
  return std::bit_cast<std::int64_t>(x) < 0 ? -y : y;
}
FERRY_HD constexpr double cos(double x) {
  return sin_shifted(magnitude(x), 1);
}
FERRY_HD constexpr double tan(double x) {
  const Angle angle = angle_of(magnitude(x));
  const double s = sin_near(angle.rest, angle.tail);
  const double c = cos_near(angle.rest, angle.tail);
  const double y = (angle.quadrant & 1) != 0 ? -c / s : s / c;
  return std::bit_cast<std::int64_t>(x) < 0 ? -y : y;
}

FERRY_HD constexpr double atan(double x) {
  const double size = magnitude(x);
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
  const double z = r * r;
  const double near = r * (z * polynomial(z, kP) / polynomial(z, kQ)) + r;
  const double y = large ? kPiHalf + (near + kPiHalfRest) : middle ? 0.5 * kPiHalf + (near + 0.5 * kPiHalfRest) : near;
  return with_sign(y, x);
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
  const double size = magnitude(x);
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
  const double size = magnitude(x);
  const double half = exp(0.5 * size);
  return size > 700.0 ? 0.5 * half * half : 0.5 * exp(size) + 0.5 / exp(size);
}
FERRY_HD inline double asinh(double x) {
  const double size = magnitude(x);
  constexpr double kLogTwo = 0.693147180559945309417;
  const double y = size > 1e9 ? log(size) + kLogTwo : log1p(size + size * size / (1.0 + std::sqrt(1.0 + size * size)));
  return with_sign(y, x);
}
FERRY_HD inline double acosh(double x) {
  constexpr double kLogTwo = 0.693147180559945309417;
  const double over = x - 1.0;
  const double y = x > 1e9 ? log(x) + kLogTwo : log1p(over + std::sqrt(over * (over + 2.0)));
  return x < 1.0 ? kNaN<double> : y;
}
FERRY_HD constexpr double atanh(double x) {
  const double size = magnitude(x);
  return with_sign(0.5 * log1p(2.0 * size / (1.0 - size)), x);
}

}  // namespace ferry::math
