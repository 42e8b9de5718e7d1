// Accuracy of the elementary functions against libm in a wider type, in units of the last place.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/functors.hpp"
#include "kernels/kernel.hpp"
#include "kernels/scalar_math.hpp"
#include "ops/math/math.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

template <class T>
double ulps(T got, long double wanted) {
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<T>(wanted);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  const T size = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  const T unit = std::nextafter(size, math::kInf<T>) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - wanted) / static_cast<long double>(unit));
}

/// The largest error over random arguments: uniform in [low, high], and of every magnitude within it.
template <class T, class F, class G>
double worst(T low, T high, F ours, G reference) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> uniform(low, high);
  std::uniform_real_distribution<T> exponent(std::is_same_v<T, float> ? -148 : -1070, 0);
  double result = 0;
  for (int i = 0; i < 100000; ++i) {
    const T near_zero = uniform(random) * std::exp2(exponent(random));
    for (T x : {uniform(random), near_zero})
      result = std::max(result, ulps(ours(x), reference(static_cast<long double>(x))));
  }
  return result;
}

constexpr long double kLongOne = 1;

}  // namespace

TEST_CASE_TEMPLATE("elementary functions are within 3 ulp", T, float, double) {
  const T big = std::is_same_v<T, float> ? T(120) : T(800);
  CHECK(worst<T>(
            -big, big, [](T x) { return math::exp(x); }, [](long double x) { return std::exp(x); }) < 2);
  CHECK(worst<T>(
            T(0), T(4), [](T x) { return math::log(x); }, [](long double x) { return std::log(x); }) < 1.5);
  CHECK(worst<T>(
            T(0), T(1e30), [](T x) { return math::log(x); }, [](long double x) { return std::log(x); }) < 1.5);
  CHECK(worst<T>(
            T(-12), T(12), [](T x) { return math::tanh(x); }, [](long double x) { return std::tanh(x); }) < 2);
  CHECK(worst<T>(
            T(-60), T(60), [](T x) { return math::sigmoid(x); },
            [](long double x) { return kLongOne / (kLongOne + std::exp(-x)); }) < 2.5);
  CHECK(worst<T>(
            T(-7), T(7), [](T x) { return math::erf(x); }, [](long double x) { return std::erf(x); }) <
        (sizeof(T) == 4 ? 2 : 3));
}

TEST_CASE_TEMPLATE("elementary functions at the edges", T, float, double) {
  CHECK(std::signbit(math::tanh(T(-0.0))));
  CHECK(!std::signbit(math::tanh(T(0))));
  const T inf = math::kInf<T>;
  const T nan = math::kNaN<T>;
  CHECK(math::exp(-inf) == 0);
  CHECK(math::exp(inf) == inf);
  CHECK(math::exp(T(0)) == 1);
  CHECK(math::log(T(1)) == 0);
  CHECK(math::log(T(0)) == -inf);
  CHECK(math::log(inf) == inf);
  CHECK(std::isnan(math::log(T(-1))));
  CHECK(math::log(std::numeric_limits<T>::denorm_min()) ==
        doctest::Approx(std::log(static_cast<double>(std::numeric_limits<T>::denorm_min()))));
  CHECK(math::tanh(inf) == 1);
  CHECK(math::tanh(-inf) == -1);
  CHECK(math::sigmoid(inf) == 1);
  CHECK(math::sigmoid(-inf) == 0);
  CHECK(math::erf(inf) == 1);
  CHECK(math::erf(-inf) == -1);
  CHECK(math::pow(T(-2), T(3)) == -8);
  CHECK(math::pow(T(0), T(0)) == 1);
  for (T y : {math::exp(nan), math::log(nan), math::tanh(nan), math::sigmoid(nan), math::erf(nan)})
    CHECK(std::isnan(y));
}

// It tests every n-th float from 0 to 6, each second one negative. FERRY_TEST_FLOATS sets n.
TEST_CASE("the kernel of erf is within 1.5 ulp, by any instruction set") {
  const char* const asked = std::getenv("FERRY_TEST_FLOATS");
  const std::uint32_t n = asked == nullptr ? 97 : static_cast<std::uint32_t>(std::atoi(asked));
  constexpr std::uint32_t kLast = std::bit_cast<std::uint32_t>(6.0F);
  constexpr std::size_t kBlock = 1 << 20;
  const auto erf_of = [](const std::vector<float>& x, const KernelTable& kernels) {
    Graph g;
    return test::Evaluator(g, {.kernels = &kernels}).run({erf(g.constant(Tensor::of<float>(x)))})[0];
  };
  double largest = 0;
  std::vector<float> x{-0.0F, math::kInf<float>, -math::kInf<float>, math::kNaN<float>, 3.4e38F, -3.4e38F, 0x1p-149F};
  for (std::uint32_t i = 0; i <= kLast / n; x.clear()) {
    for (; i <= kLast / n && x.size() < kBlock; ++i) x.push_back(std::bit_cast<float>(i * n | (i % 2) << 31));
    const Tensor y = erf_of(x, cpu_kernels());
    for (std::size_t k = 0; k < x.size(); ++k)
      largest = std::max(largest, ulps(y.data<float>()[k], std::erf(static_cast<double>(x[k]))));
    for (const KernelTable& level : cpu_kernel_levels()) CHECK(erf_of(x, level).same_bits(y));
  }
  CHECK(largest < 1.5);
}

TEST_CASE("exp has the same bits by the steps for negative numbers") {
  std::int64_t wrong = 0;
  const auto compare = [&wrong](auto x) {
    const auto any = math::exp(x), negative = math::exp_of_negative(x);
    if (std::memcmp(&any, &negative, sizeof any) != 0) ++wrong;
  };
  const auto compare_bits = [&](std::uint32_t first, std::uint32_t last, std::uint32_t step) {
    for (std::uint64_t bits = first; bits <= last; bits += step)
      compare(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  };
  compare_bits(0x80000000U, 0xffffffffU, 1999);  // down to -inf, and NaN
  compare_bits(0xc2ae0000U, 0xc2d10000U, 1);     // -87 to -104.5: the results are not normal numbers
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-750, 0);
  for (int i = 0; i < 1000000; ++i) compare(uniform(random));
  for (const double x : {0.0, -0.0, -746.0, -math::kInf<double>, math::kNaN<double>}) compare(x);
  CHECK(wrong == 0);
}

// The digests are from g++-12 and clang++-14: a compiler or an instruction set that gives other bits fails here.
TEST_CASE("elementary functions give the same bits everywhere") {
  const auto digest = [](auto zero) {
    using T = decltype(zero);
    std::uint64_t sum = 0;
    for (int i = -4000; i < 4000; ++i) {
      const T x = T(i) / T(128);
      for (T y : {math::exp(x), math::log(x + T(32)), math::tanh(x), math::sigmoid(x), math::erf(x)}) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &y, sizeof y);
        sum = sum * 0x9e3779b97f4a7c15U + bits;
      }
    }
    return sum;
  };
  CHECK(digest(0.0F) == 6957453242804345109U);
  CHECK(digest(0.0) == 14314968165922724243U);
}

TEST_CASE("remainders at the ends of the integers and of zeros") {
  const functors::Mod mod;
  const functors::Fmod fmod;
  constexpr auto kTop = std::numeric_limits<std::uint64_t>::max();
  CHECK(mod(std::uint64_t{7}, kTop) == 7);
  CHECK(fmod(kTop - 1, kTop) == kTop - 1);
  CHECK(mod(kTop, kTop) == 0);
  CHECK(mod(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}) == 0);
  CHECK(std::signbit(mod(0.0, -3.0)));
  CHECK(!std::signbit(mod(-0.0F, 3.0F)));
  CHECK(std::signbit(fmod(-0.0, 3.0)));
}

TEST_CASE("of 0 and -0 the larger and the smaller do not depend on their order") {
  const functors::Maximum larger;
  const functors::Minimum smaller;
  for (const double zero : {0.0, -0.0}) {
    CHECK_FALSE(std::signbit(larger(zero, 0.0)));
    CHECK_FALSE(std::signbit(larger(0.0, zero)));
    CHECK(std::signbit(smaller(zero, -0.0)));
    CHECK(std::signbit(smaller(-0.0, zero)));
  }
  CHECK(std::signbit(larger(-0.0F, -0.0F)));
  CHECK_FALSE(std::signbit(smaller(0.0F, 0.0F)));
  CHECK(larger(std::uint8_t{0}, std::uint8_t{0}) == 0);
  CHECK(smaller(std::uint8_t{0}, std::uint8_t{0}) == 0);
}

TEST_CASE_TEMPLATE("maximum and minimum beside one number are those of any two", T, float, double) {
  const T inf = math::kInf<T>, numbers[] = {-inf, T(-3), T(-0.0), T(0), T(2), inf, std::numeric_limits<T>::quiet_NaN()};
  const auto bits = [](T x) {
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> bits;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
  };
  const auto check = [&](auto join) {
    using Join = decltype(join);
    int simple = 0;
    for (const T b : numbers) {
      if (!Join::is_simple_beside(b)) continue;
      ++simple;
      for (const T a : numbers) {
        CHECK(bits(typename Join::BesideOne()(a, b)) == bits(join(a, b)));
        if (!std::isnan(a)) CHECK(bits(typename Join::BesideOne()(a, b)) == bits(join(b, a)));
      }
    }
    CHECK(simple == 5);
  };
  check(functors::Maximum());
  check(functors::Minimum());
}

}  // namespace ferry
