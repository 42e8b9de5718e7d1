// Accuracy of the trigonometric functions against libm in a wider type.
#include "kernels/scalar_trig.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace ferry {
namespace {

double ulps(double got, long double wanted) {
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<double>(wanted);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  const double size = std::max(std::abs(rounded), std::numeric_limits<double>::min());
  const double unit = std::nextafter(size, math::kInf<double>) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - wanted) / static_cast<long double>(unit));
}

struct Function {
  const char* name;
  double low, high;
  double (*ours)(double);
  long double (*reference)(long double);
};

/// The largest error over random arguments: uniform in [low, high], and some of every magnitude near 0 within it.
double worst(const Function& f) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(f.low, f.high);
  std::uniform_real_distribution<double> exponent(-300, 0);
  double result = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = uniform(random);
    const double near_zero = x * std::exp2(exponent(random));
    for (double at : {x, near_zero < f.low ? x : near_zero})
      result = std::max(result, ulps(f.ours(at), f.reference(static_cast<long double>(at))));
  }
  return result;
}

}  // namespace

TEST_CASE("trigonometric and hyperbolic functions are within 4 ulp") {
  const Function functions[] = {
      {"sin", -10, 10, math::sin, std::sin},       {"sin", -2e8, 2e8, math::sin, std::sin},
      {"cos", -10, 10, math::cos, std::cos},       {"cos", -2e8, 2e8, math::cos, std::cos},
      {"tan", -10, 10, math::tan, std::tan},       {"asin", -1, 1, math::asin, std::asin},
      {"acos", -1, 1, math::acos, std::acos},      {"atan", -5, 5, math::atan, std::atan},
      {"atan", -1e6, 1e6, math::atan, std::atan},  {"sinh", -720, 720, math::sinh, std::sinh},
      {"sinh", -2, 2, math::sinh, std::sinh},      {"cosh", -720, 720, math::cosh, std::cosh},
      {"asinh", -20, 20, math::asinh, std::asinh}, {"asinh", -1e300, 1e300, math::asinh, std::asinh},
      {"acosh", 1, 20, math::acosh, std::acosh},   {"acosh", 1, 1e300, math::acosh, std::acosh},
      {"atanh", -1, 1, math::atanh, std::atanh},
  };
  for (const Function& f : functions) {
    CAPTURE(f.name);
    CHECK(worst(f) < 4);
  }
}

TEST_CASE("angles beside multiples of pi/2 and huge ones lose nothing") {
  double worst_of[3] = {};
  const auto look = [&](double x) {
    const auto wide = static_cast<long double>(x);
    worst_of[0] = std::max(worst_of[0], ulps(math::sin(x), std::sin(wide)));
    worst_of[1] = std::max(worst_of[1], ulps(math::cos(x), std::cos(wide)));
    worst_of[2] = std::max(worst_of[2], ulps(math::tan(x), std::tan(wide)));
  };
  for (std::int64_t k = 1; k < 2'000'000'000'000; k += 1 + k / 64) {
    const double beside = static_cast<double>(k) * math::kPiHalf;
    for (double x : {beside, std::nextafter(beside, 0.0), std::nextafter(beside, 1e300)}) look(x);
  }
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-1070, 1023.99);
  for (int i = 0; i < 100000; ++i) look(std::exp2(exponent(random)));
  look(0x1.6ac5b262ca1ffp+849);  // the float64 that is nearest to a multiple of pi/2
  look(std::numeric_limits<double>::max());
  for (double just : {math::kNear, std::nextafter(math::kNear, 0.0), std::nextafter(math::kNear, 1e300)}) look(just);
  CHECK(worst_of[0] < 1);
  CHECK(worst_of[1] < 1);
  CHECK(worst_of[2] < 2.5);
}

TEST_CASE("odd functions keep the sign of zero") {
  for (double (*f)(double) : {math::sin, math::tan, math::asin, math::atan, math::sinh, math::asinh, math::atanh}) {
    CHECK(std::signbit(f(-0.0)));
    CHECK(!std::signbit(f(0.0)));
    CHECK(f(-0.0) == 0);
    CHECK(f(-1e-310) == -1e-310);
  }
}

TEST_CASE("trigonometric functions at the edges") {
  const double inf = math::kInf<double>;
  const double nan = math::kNaN<double>;
  for (double y : {math::sin(inf),   math::cos(-inf),    math::tan(inf),     math::asin(1.5),  math::acos(-1.5),
                   math::acosh(0.5), math::acosh(-1e10), math::acosh(-1e30), math::atanh(2),   math::sin(nan),
                   math::cos(nan),   math::tan(nan),     math::asin(nan),    math::acos(nan),  math::atan(nan),
                   math::sinh(nan),  math::cosh(nan),    math::asinh(nan),   math::acosh(nan), math::atanh(nan)})
    CHECK(std::isnan(y));
  CHECK(math::sin(1e22) == doctest::Approx(-0.8522008497671888));
  CHECK(math::cos(1e22) == doctest::Approx(0.5232147853951389));
  CHECK(math::asin(1) == doctest::Approx(math::kPiHalf));
  CHECK(math::asin(-1) == doctest::Approx(-math::kPiHalf));
  CHECK(math::acos(1) == 0);
  CHECK(math::acos(-1) == doctest::Approx(2 * math::kPiHalf));
  CHECK(math::atan(inf) == doctest::Approx(math::kPiHalf));
  CHECK(math::sinh(inf) == inf);
  CHECK(math::sinh(-inf) == -inf);
  CHECK(math::cosh(-inf) == inf);
  CHECK(math::asinh(inf) == inf);
  CHECK(math::asinh(-inf) == -inf);
  CHECK(math::acosh(inf) == inf);
  CHECK(math::acosh(1) == 0);
  CHECK(math::atanh(1) == inf);
  CHECK(math::atanh(-1) == -inf);
}

}  // namespace ferry
