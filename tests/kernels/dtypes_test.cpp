// Every dtype in kernels: conversions between all pairs, folds, what happens at the ends of ranges, and kernels that
// get narrow arrays converted to wider ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/array/indexing.hpp"
#include "ops/data/data.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

__extension__ using Wide = __int128;

/// Whether T is an integer type; bool is not counted.
template <class T>
constexpr bool kIsInt = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Converts as docs/reference/dtypes.md says.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return !(x == From(0));
  } else if constexpr (!std::is_integral_v<To>) {
    if constexpr (std::is_integral_v<From>)
      return static_cast<To>(x);
    else
      return static_cast<To>(static_cast<double>(x));
  } else if constexpr (std::is_integral_v<From>) {
    constexpr Wide kRange = Wide{1} << (sizeof(To) * 8);
    const Wide rest = (static_cast<Wide>(x) % kRange + kRange) % kRange;  // wraps around
    return static_cast<To>(rest > std::numeric_limits<To>::max() ? rest - kRange : rest);
  } else {
    const auto number = static_cast<double>(x);
    if (std::isnan(number)) return 0;
    if (number <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (number >= std::ldexp(1.0, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
    return static_cast<To>(number);
  }
}

template <class T>
std::vector<T> interesting() {
  std::vector<T> numbers{T(0), T(1), T(2), T(100), T(127)};
  if constexpr (std::is_same_v<T, bool>) return numbers;
  for (T number : {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()}) numbers.push_back(number);
  if constexpr (kIsInt<T>) {
    numbers.push_back(static_cast<T>(-3));
    numbers.push_back(static_cast<T>(std::numeric_limits<T>::max() / 2 + 1));
  } else {
    for (double number : {-0.0, -0.75, 0.5, 1.5, -3.9, 200.7, 255.5, -129.0, 32767.5, 65504.0, 3e9, -3e9, 1.8446744e19,
                          1e-7, 1e30, double{INFINITY}, -double{INFINITY}, double{NAN}})
      numbers.push_back(static_cast<T>(number));
  }
  return numbers;
}

template <class T>
Tensor listed(const std::vector<T>& values) {
  Tensor tensor(dtype_of<T>(), {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.mutable_data<T>()[i] = values[i];
  return tensor;
}

Tensor of(DType dtype, const std::vector<double>& values) {
  Tensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  dispatch(dtype, [&](auto zero) {
    for (std::size_t i = 0; i < values.size(); ++i)
      tensor.mutable_data<decltype(zero)>()[i] = static_cast<decltype(zero)>(values[i]);
  });
  return tensor;
}

Tensor evaluated(const Value& value, int threads = 1) {
  test::Threads parallel(threads);
  return test::Evaluator(value.graph(), {.parallel = &parallel}).run({value})[0];
}

/// f of two constants, computed.
template <class F>
Tensor computed(const F& f, const Tensor& a, const Tensor& b) {
  Graph g;
  const Value x = g.constant(a), y = g.constant(b);
  return evaluated(f(x, y));
}

/// The dtypes that most kernels do not take themselves.
constexpr DType kNarrow[] = {DType::int8,   DType::uint8,  DType::int16,   DType::uint16,
                             DType::uint32, DType::uint64, DType::float16, DType::bfloat16};

}  // namespace

TEST_CASE("conversions between all dtypes, at the ends of their ranges") {
  for (DType from : kDTypes) {
    dispatch(from, [&](auto from_zero) {
      using From = decltype(from_zero);
      std::vector<From> numbers;
      while (numbers.size() < 700)  // more than a block
        for (From number : interesting<From>()) numbers.push_back(number);
      const Tensor input = listed(numbers);
      for (DType to : kDTypes) {
        if (to == from) continue;
        dispatch(to, [&](auto to_zero) {
          using To = decltype(to_zero);
          Graph g;
          const Tensor got = evaluated(cast(g.constant(input), to));
          std::vector<To> wanted;
          for (From number : numbers) wanted.push_back(converted<To>(number));
          CAPTURE(name_of(from));
          CAPTURE(name_of(to));
          CHECK(got.str(20) == listed(wanted).str(20));
          std::int64_t wrong = 0;
          for (std::size_t i = 0; i < wanted.size(); ++i) {
            const auto index = static_cast<std::int64_t>(i);
            const double a = got.number(index), b = static_cast<double>(wanted[i]);
            wrong += !(a == b && std::signbit(a) == std::signbit(b)) && !(std::isnan(a) && std::isnan(b));
          }
          CHECK(wrong == 0);
        });
      }
    });
  }
}

TEST_CASE("integers of every dtype wrap around") {
  Graph g;
  const auto sum_of = [](const Value& a, const Value& b) { return a + b; };
  CHECK(computed(sum_of, of(DType::int8, {127, -128, 5}), of(DType::int8, {1, -1, 6})).str() == "[-128 127 11]");
  CHECK(computed(sum_of, of(DType::uint16, {65535, 7, 0}), of(DType::uint16, {2, 1, 0})).str() == "[1 8 0]");
  CHECK(computed(sum_of, of(DType::uint32, {4294967295.0}), of(DType::uint32, {2})).str() == "[1]");
  const auto product_of = [](const Value& a, const Value& b) { return a * b; };
  CHECK(computed(product_of, of(DType::uint64, {0x1p63, 0x1p63}), of(DType::uint64, {3, 2})).str() ==
        "[9223372036854775808 0]");
  const auto quotient_of = [](const Value& a, const Value& b) { return a / b; };
  CHECK(computed(quotient_of, of(DType::int8, {-128, -7}), of(DType::int8, {-1, 2})).str() == "[-128 -3]");
  CHECK(evaluated(sum(g.constant(of(DType::int8, std::vector<double>(1000, 1))))).str() == "-24");
}

TEST_CASE("uint64 beyond int64 is divided and ordered as it is") {
  const Tensor large = of(DType::uint64, {0x1p63, 6});
  const Tensor small = of(DType::uint64, {3, 4});
  CHECK(computed([](auto& a, auto& b) { return a / b; }, large, small).str() == "[3074457345618258602 1]");
  CHECK(computed([](auto& a, auto& b) { return maximum(a, b); }, large, small).str() == "[9223372036854775808 6]");
  CHECK(computed([](auto& a, auto& b) { return less(a, b); }, large, small).str() == "[false false]");
  CHECK(computed([](auto& a, auto&) { return max(a); }, large, small).str() == "9223372036854775808");
  CHECK(computed([](auto& a, auto&) { return argmax(a); }, large, small).str() == "0");
  CHECK(computed([](auto& a, auto&) { return abs(a) + sign(a); }, large, small).str() == "[9223372036854775809 7]");
  CHECK(computed([](auto& a, auto&) { return cast(a, DType::float64); }, large, small).str() == "[9.223372037e+18 6]");
}

TEST_CASE("integers of every dtype are not divided by zero") {
  for (DType dtype : kNarrow) {
    const auto divided = [&] {
      static_cast<void>(computed([](auto& a, auto& b) { return a / b; }, of(dtype, {1, 2}), of(dtype, {1, 0})));
    };
    if (is_float(dtype))
      CHECK_NOTHROW(divided());
    else
      CHECK_THROWS_WITH_AS(divided(), doctest::Contains("divided by zero"), Error);
  }
}

TEST_CASE("the largest and smallest of no elements are the ends of the range") {
  for (DType dtype : kDTypes) {
    if (dtype == DType::boolean) continue;
    Graph g;
    const Value none = g.constant(Tensor(dtype, {0}));
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      using Limits = std::numeric_limits<T>;
      const T low = Limits::has_infinity ? static_cast<T>(-INFINITY) : Limits::lowest();
      const T high = Limits::has_infinity ? static_cast<T>(INFINITY) : Limits::max();
      CHECK(evaluated(max(none)).same_bits(Tensor::scalar(low)));
      CHECK(evaluated(min(none)).same_bits(Tensor::scalar(high)));
      CHECK(evaluated(sum(none)).same_bits(Tensor::scalar(T(0))));
    });
  }
}

TEST_CASE("NaN of every float is the largest and the smallest, and the first is found") {
  for (DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Tensor x = of(dtype, {1, NAN, 3, NAN});
    CHECK(computed([](auto& a, auto&) { return max(a); }, x, x).str() == "nan");
    CHECK(computed([](auto& a, auto&) { return min(a); }, x, x).str() == "nan");
    CHECK(computed([](auto& a, auto&) { return argmax(a); }, x, x).str() == "1");
    const Tensor y = of(dtype, {NAN, 2, 2, 2});
    CHECK(computed([](auto& a, auto& b) { return maximum(a, b); }, x, y).str() == "[nan nan 3 nan]");
    CHECK(computed([](auto& a, auto& b) { return minimum(a, b); }, x, y).str() == "[nan nan 2 nan]");
    CHECK(computed([](auto& a, auto& b) { return equal(a, b); }, x, x).str() == "[true false true false]");
  }
}

TEST_CASE("float16 adds up in float32 and is rounded once") {
  Graph g;
  const Value ones = g.constant(of(DType::float16, std::vector<double>(10000, 1)));
  CHECK(evaluated(sum(ones)).number(0) == 10000);  // float16 itself would stay at 2048
  const Value tenths = g.constant(of(DType::bfloat16, std::vector<double>(1000, 0.1)));
  CHECK(evaluated(sum(tenths)).str() == "100");
  const Value large = g.constant(of(DType::float16, std::vector<double>(1000, 300)));
  CHECK(evaluated(sum(large)).str() == "inf");
  CHECK(evaluated(mean(large)).str() == "300");
}

TEST_CASE("blocks of broadcast values of narrow dtypes are placed rightly, in any number of threads") {
  for (DType dtype : kNarrow) {
    Graph g;
    std::vector<double> numbers(300 * 77);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 97);
    Tensor a = of(dtype, numbers);
    a = Tensor(dtype, {300, 1, 77}, std::make_shared<Tensor>(a), a.bytes());
    const Value x = g.constant(a);
    const Value y = g.constant(Tensor(dtype, {5, 1}));
    const Value z = g.constant(of(dtype, std::vector<double>(77, 3)));
    const Value result = (x + y) * z;
    const Tensor one = evaluated(result), three = evaluated(result, 3);
    CHECK(one.same_bits(three));
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < one.count(); ++i)
      wrong += of(dtype, {3 * a.number(i / (5 * 77) * 77 + i % 77)}).number(0) != one.number(i);
    CHECK(wrong == 0);
  }
}

TEST_CASE("folds of every dtype") {
  for (DType dtype : kDTypes) {
    if (dtype == DType::boolean) continue;
    std::vector<double> mine, others;
    for (int i = 0; i < 1100; ++i) {
      mine.push_back(i % 50);
      others.push_back(i % 60);
    }
    const auto folded = [&](Reduce reduce) {
      Tensor out = of(dtype, mine);
      const Tensor in = of(dtype, others);
      cpu_kernels().fold()(reduce, dtype, out.mutable_bytes().data(), out.bytes().data(), in.bytes().data(),
                           out.count());
      return out;
    };
    CAPTURE(name_of(dtype));
    const Tensor sum = folded(Reduce::sum), top = folded(Reduce::max), low = folded(Reduce::min);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      wrong += sum.number(at) != mine[i] + others[i];
      wrong += top.number(at) != std::max(mine[i], others[i]) || low.number(at) != std::min(mine[i], others[i]);
    }
    CHECK(wrong == 0);
  }
  Tensor out = of(DType::uint64, {0x1p63});
  const Tensor in = of(DType::uint64, {1});
  cpu_kernels().fold()(Reduce::max, DType::uint64, out.mutable_bytes().data(), out.bytes().data(), in.bytes().data(),
                       1);
  CHECK(out.str() == "[9223372036854775808]");
}

TEST_CASE("random numbers of narrow floats are those of float32, rounded") {
  for (DType dtype : {DType::float16, DType::bfloat16}) {
    Graph g;
    const Value wide = normal(g, {500}, 1, 2).named("a");
    Graph h;
    const Value narrow = normal(h, {500}, 1, 2, dtype).named("a");
    CHECK(evaluated(cast(wide, dtype)).same_bits(evaluated(narrow)));
  }
}

}  // namespace ferry
