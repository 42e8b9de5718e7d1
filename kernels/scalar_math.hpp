// Elementary functions of one number, written once for the CPU and CUDA.
//
// The functions have no branches and no tables, so that a loop over them becomes vector code. They use only operations
// that IEEE 754 rounds exactly, so that they give the same bits from every compiler, on every machine and for every
// instruction set. The functions of libm do not: glibc picks another exp on a machine with fused multiply-add. The
// exception is pow, which calls libm. Errors are below 2 units in the last place. Algorithms and coefficients: S. L.
// Moshier, Cephes Mathematical Library 2.8 (netlib.org/cephes).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// FERRY_HD: a CUDA compiler compiles the function for host and device.
#ifdef __CUDACC__
#define FERRY_HD __host__ __device__
#define FERRY_HD_INLINED __host__ __device__
#else
#define FERRY_HD
#define FERRY_HD_INLINED [[gnu::always_inline]]  // for large functions, as a loop with a call is not vectorized
#endif

namespace ferry::math {

template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

/// Evaluates a polynomial. The coefficients start with the highest power.
template <class T, std::size_t N>
FERRY_HD constexpr T polynomial(T x, const T (&coefficients)[N]) {
  T y = coefficients[0];
  for (std::size_t i = 1; i < N; ++i) y = y * x + coefficients[i];
  return y;
}

// magnitude(x) is |x|. with_sign(size, x) is `size` (not negative) with the sign of x; x may be -0.
FERRY_HD constexpr float magnitude(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffU);
}
FERRY_HD constexpr double magnitude(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffU);
}
FERRY_HD constexpr float with_sign(float size, float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | (std::bit_cast<std::uint32_t>(x) & 0x80000000U));
}
FERRY_HD constexpr double with_sign(double size, double x) {
  constexpr std::uint64_t kSign = 0x8000000000000000U;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | (std::bit_cast<std::uint64_t>(x) & kSign));
}

/// 2^n. The result must be a normal number.
FERRY_HD constexpr float power_of_two(std::int32_t n) {
  return std::bit_cast<float>((n + 127) << 23);
}
FERRY_HD constexpr double power_of_two(std::int64_t n) {
  return std::bit_cast<double>((n + 1023) << 52);
}

/// exp(x) as fraction * 2^exponent. The fraction is about in [sqrt(1/2), sqrt(2)].
template <class T, class Int>
struct ScaledExp {
  T fraction;
  Int exponent;
};

FERRY_HD constexpr ScaledExp<float, std::int32_t> scaled_exp(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer, in the low bits
  const float shifted = x * 1.44269504088896341F + kRound;
  const std::int32_t n = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const float whole = shifted - kRound;
  const float r = (x - whole * 0.693359375F) - whole * -2.12194440e-4F;
  constexpr float kP[] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                          4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
  return {polynomial(r, kP) * (r * r) + r + 1.0F, n};
}

FERRY_HD constexpr ScaledExp<double, std::int64_t> scaled_exp(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = x * 1.4426950408889634073599 + kRound;
  const std::int64_t n = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kRound);
  const double whole = shifted - kRound;
  const double r = (x - whole * 6.93145751953125e-1) - whole * 1.42860682030941723212e-6;
  constexpr double kP[] = {1.26177193074810590878e-4, 3.02994407707441961300e-2, 9.99999999999999999910e-1};
  constexpr double kQ[] = {3.00198505138664455042e-6, 2.52448340349684104192e-3, 2.27265548208155028766e-1,
                           2.00000000000000000005e0};
  const double z = r * r;
  const double p = r * polynomial(z, kP);
  return {1.0 + 2.0 * (p / (polynomial(z, kQ) - p)), n};
}

/// For x beyond these limits, exp(x) rounds to 0 or infinity.
template <class T>
inline constexpr T kExpLeast = sizeof(T) == 4 ? T(-104) : T(-746);
template <class T>
inline constexpr T kExpMost = sizeof(T) == 4 ? T(89) : T(710);

template <class T>
FERRY_HD constexpr T exp(T x) {
  x = x > kExpMost<T> ? kExpMost<T> : x;
  x = x < kExpLeast<T> ? kExpLeast<T> : x;
  const auto [fraction, exponent] = scaled_exp(x);
  const auto half = exponent >> 1;  // in two steps, because 2^exponent itself may be out of range
  return fraction * power_of_two(half) * power_of_two(exponent - half);
}

/// exp(x) for x <= 0 or NaN. It gives the same bits as exp() in fewer steps, because the second factor is constant.
template <class T>
FERRY_HD constexpr T exp_of_negative(T x) {
  constexpr auto kShift = sizeof(T) == 4 ? 64 : 512;
  x = x < kExpLeast<T> ? kExpLeast<T> : x;
  const auto [fraction, exponent] = scaled_exp(x);
  return fraction * power_of_two(exponent + kShift) * power_of_two(decltype(exponent)(-kShift));
}

/// A positive number as fraction * 2^exponent. The fraction is in [sqrt(1/2), sqrt(2)).
template <class T>
struct Split {
  T fraction, exponent;
};

FERRY_HD constexpr Split<float> split_exponent(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  x = tiny ? x * 8388608.0F : x;                                             // 2^23
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) - 0x3f3504f3U;  // the bits of sqrt(1/2)
  const std::int32_t exponent = static_cast<std::int32_t>(bits) >> 23;
  const float fraction = std::bit_cast<float>((bits & 0x007fffffU) + 0x3f3504f3U);
  return {fraction, static_cast<float>(exponent - (tiny ? 23 : 0))};
}

FERRY_HD constexpr Split<double> split_exponent(double x) {
  const bool tiny = x < std::numeric_limits<double>::min();
  x = tiny ? x * 4503599627370496.0 : x;  // 2^52
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) - 0x3fe6a09e667f3bcdU;
  const std::int32_t exponent = static_cast<std::int32_t>(static_cast<std::int64_t>(bits) >> 52);
  const double fraction = std::bit_cast<double>((bits & 0x000fffffffffffffU) + 0x3fe6a09e667f3bcdU);
  return {fraction, static_cast<double>(exponent - (tiny ? 52 : 0))};
}

/// log(x) for every x: `inside` if x is positive and finite, otherwise the value for that special case.
template <class T>
FERRY_HD constexpr T log_edges(T x, T inside) {
  T y = x == kInf<T> ? x : inside;
  y = x == T(0) ? -kInf<T> : y;
  return x < T(0) ? kNaN<T> : (x != x ? x : y);
}

FERRY_HD constexpr float log(float x) {
  const auto [fraction, exponent] = split_exponent(x);
  const float r = fraction - 1.0F;
  const float z = r * r;
  constexpr float kP[] = {7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,  -1.2420140846e-1F, 1.4249322787e-1F,
                          -1.6668057665e-1F, 2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
  float y = r * z * polynomial(r, kP);
  y += exponent * -2.12194440e-4F;
  y -= 0.5F * z;
  return log_edges(x, (r + y) + exponent * 0.693359375F);
}

FERRY_HD constexpr double log(double x) {
  const auto [fraction, exponent] = split_exponent(x);
  const double r = fraction - 1.0;
  const double z = r * r;
  constexpr double kP[] = {1.01875663804580931796e-4, 4.97494994976747001425e-1, 4.70579119878881725854e0,
                           1.44989225341610930846e1,  1.79368678507819816313e1,  7.70838733755885391666e0};
  constexpr double kQ[] = {1.0,
                           1.12873587189167450590e1,
                           4.52279145837532221105e1,
                           8.29875266912776603211e1,
                           7.11544750618563894466e1,
                           2.31251620126765340583e1};
  double y = r * (z * polynomial(r, kP) / polynomial(r, kQ));
  y -= exponent * 2.121944400546905827679e-4;
  y -= 0.5 * z;
  return log_edges(x, (r + y) + exponent * 0.693359375);
}

/// tanh(x) for x near 0.
FERRY_HD constexpr float tanh_small(float x) {
  const float z = x * x;
  constexpr float kP[] = {-5.70498872745e-3F, 2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F,
                          -3.33332819422e-1F};
  return polynomial(z, kP) * z * x + x;
}
FERRY_HD constexpr double tanh_small(double x) {
  const double z = x * x;
  constexpr double kP[] = {-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3};
  constexpr double kQ[] = {1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3};
  return x + x * z * (polynomial(z, kP) / polynomial(z, kQ));
}

template <class T>
FERRY_HD constexpr T tanh(T x) {
  const T size = magnitude(x);
  const T large = T(1) - T(2) / (exp(T(2) * size) + T(1));
  return with_sign(size < T(0.625) ? tanh_small(size) : large, x);
}

/// 1 / (1 + exp(-x)), without overflow.
template <class T>
FERRY_HD constexpr T sigmoid(T x) {
  const T e = exp_of_negative(x < T(0) ? x : -x);
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

FERRY_HD_INLINED constexpr double erf(double x) {
  const double size = x < 0 ? -x : x;
  const double z = x * x;
  constexpr double kT[] = {9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
                           7.00332514112805075473e3, 5.55923013010394962768e4};
  constexpr double kU[] = {1.0,
                           3.35617141647503099647e1,
                           5.21357949780152679795e2,
                           4.59432382970980127987e3,
                           2.26290000613890934246e4,
                           4.92673942608635921086e4};
  const double inner = x * polynomial(z, kT) / polynomial(z, kU);
  constexpr double kP[] = {2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
                           4.86371970985681366614e1,   1.96520832956077098242e2,  5.26445194995477358631e2,
                           9.34528527171957607540e2,   1.02755188689515710272e3,  5.57535335369399327526e2};
  constexpr double kQ[] = {1.0,
                           1.32281951154744992508e1,
                           8.67072140885989742329e1,
                           3.54937778887819891062e2,
                           9.75708501743205489753e2,
                           1.82390916687909736289e3,
                           2.24633760818710981792e3,
                           1.65666309194161350182e3,
                           5.57535340817727675546e2};
  const double far = size > 6.0 ? 6.0 : size;  // erf(6) rounds to 1
  const double outer = 1.0 - exp(-far * far) * polynomial(far, kP) / polynomial(far, kQ);
  return size < 1.0 || x != x ? inner : (x < 0 ? -outer : outer);
}
/// For |x| below 1, a polynomial of x^2 fits erf(x) / x - 1. From 1 on, erf is 1 - exp(p(|x|)), where the polynomial p
/// fits log(erfc). Both are minimax fits: the relative error of erf is 1.3e-9 without rounding, and 1.5 units in the
/// last place with it.
FERRY_HD_INLINED constexpr float erf(float x) {
  const float size = magnitude(x);
  constexpr float kP[] = {7.8538615e-5F,  -8.0101937e-4F, 5.1883277e-3F, -2.6853813e-2F,
                          1.12835854e-1F, -3.7612626e-1F, 1.2837917e-1F};
  const float inner = x * polynomial(x * x, kP) + x;
  constexpr float kQ[] = {1.863793e-4F,   -2.9476595e-3F, 2.1838069e-2F, -1.0310677e-1F,
                          -6.3814485e-1F, -1.1270891e0F,  -3.4152137e-4F};
  const float far = size > 4.0F ? 4.0F : size;  // erf(4) rounds to 1
  const auto [fraction, exponent] = scaled_exp(polynomial(far, kQ));
  const float outer = 1.0F - fraction * power_of_two(exponent);
  return size < 1.0F || x != x ? inner : with_sign(outer, x);
}

/// x^y, by libm's pow, which computes in float64 also for float32.
template <class T>
FERRY_HD T pow(T x, T y) {
  return y == T(2) ? x * x : static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}

}  // namespace ferry::math
