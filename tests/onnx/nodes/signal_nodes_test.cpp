// Fourier's transform of signals, and recurrent ops.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/onnx/nodes/one_node.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {

TEST_CASE("a quantized LSTM in both directions: onnxruntime's numbers") {
  const auto bytes = [](std::vector<std::int64_t> sizes, const std::vector<std::int8_t>& values) {
    return Tensor::of<std::int8_t>(std::move(sizes), std::span<const std::int8_t>(values));
  };
  const Tensor x = floats({3, 1, 2}, {0.5F, -1, 2, 0.25F, -0.75F, 1.5F});
  const Tensor w = bytes({2, 2, 8}, {-6, 2, 50,  89,  -93, -71, 63, 88, -50, -38, 73,  -16, -45, 64,  -49, -18,
                                     28, 9, -83, -94, 72,  50,  66, 7,  62,  -34, -10, 57,  -75, -39, -75, -10});
  const Tensor r = bytes({2, 2, 8}, {94, -73, -24, -20, 79,  -59, 0,  -48, -96, 49,  -87, -44, -1,  -3, -76, 95,
                                     49, 91,  -81, 44,  -41, 8,   84, -45, 44,  -68, -36, 93,  -16, 3,  -41, -77});
  const Tensor bias = floats({2, 16}, {-1.1F, -0.4F, 2,     0.6F, 0.7F, -0.5F, -1.6F, 0.2F, 0.1F, -1.2F, -0.7F,
                                       -0.1F, -0.9F, -0.1F, 0.1F, 0,    -0.5F, 0.6F,  0.9F, 0.3F, -0.8F, 0.7F,
                                       -0.5F, 0.9F,  -1.1F, 0.9F, 0,    -1.2F, -0.3F, 0.1F, 0.3F, -1});
  const OneNode node{"DynamicQuantizeLSTM", 1, {text("direction", "bidirectional")}, 3, "com.microsoft"};
  const std::vector<Tensor> got =
      node.run({x, w, r, bias, Tensor(), Tensor(), Tensor(), Tensor(), floats({2}, {0.02F, 0.01F}), bytes({2}, {0, 5}),
                floats({2}, {0.015F, 0.02F}), bytes({2}, {-3, 0})});
  const std::vector<double> y{0.0288812518119812,   0.22491028904914856,  0.036764975637197495, 0.013421759940683842,
                              0.069942407310009,    0.17840807139873505,  -0.01704743690788746, 0.0020446251146495342,
                              -0.03367168456315994, 0.021221622824668884, -0.21068041026592255, -0.14878691732883453};
  const std::vector<double> c{-0.03645504638552666, 0.11213044077157974, 0.05618327856063843, 0.10539975762367249};
  REQUIRE(got[0].sizes() == std::vector<std::int64_t>{3, 2, 1, 2});
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(got[0].number(static_cast<std::int64_t>(i)) == doctest::Approx(y[i]).epsilon(1e-5));
  for (std::size_t i = 0; i < c.size(); ++i)
    CHECK(got[2].number(static_cast<std::int64_t>(i)) == doctest::Approx(c[i]).epsilon(1e-5));
}

TEST_CASE("Fourier's transform there and back") {
  const Tensor x = floats({1, 5, 2}, {1, 2, -1, 0.5F, 3, 0, -2, 1, 0, 4});
  const OneNode forth{"DFT", 20}, back{"DFT", 20, {integer("inverse", 1)}};
  const Tensor y = forth.run({x, Tensor(), longs({}, {1})})[0];
  const Tensor again = back.run({y, Tensor(), longs({}, {1})})[0];
  for (std::int64_t i = 0; i < x.count(); ++i) CHECK(again.number(i) == doctest::Approx(x.number(i)).epsilon(1e-5));
  CHECK(y.number(0) == doctest::Approx(1.0));  // the sum
  CHECK(y.number(1) == doctest::Approx(7.5));
  const OneNode half{"DFT", 17, {integer("onesided", 1), integer("axis", 1)}};
  const Tensor real = floats({1, 4, 1}, {1, 0, -1, 0});
  const Tensor padded = half.run({real, longs({}, {6})})[0];
  CHECK(padded.sizes() == std::vector<std::int64_t>{1, 4, 2});
  CHECK(padded.number(2) == doctest::Approx(1.5));  // 1 - cos(2 pi 2 / 6)
  CHECK(has(error_of(half, {real, longs({}, {std::int64_t{1} << 40})}), "elements"));

  std::vector<float> hundred(100);
  for (std::size_t i = 0; i < hundred.size(); ++i) hundred[i] = static_cast<float>(i);
  const Tensor whole =
      back.run({forth.run({floats({1, 100, 1}, hundred), Tensor(), longs({}, {1})})[0], Tensor(), longs({}, {1})})[0];
  for (std::int64_t i = 0; i < 100; ++i) CHECK(std::abs(whole.number(2 * i + 1)) < 1e-5);  // the imaginary part
}

TEST_CASE("half of the frequencies give the real signal: numpy's irfft") {
  const Tensor x = floats({1, 4, 2}, {1, 9, 2, -1, 0.5F, 3, -1, 7});
  const auto check = [&](std::int64_t length, const std::vector<double>& wanted) {
    const OneNode node{"DFT", 20, {integer("inverse", 1), integer("onesided", 1)}};
    const Tensor y = node.run({x, length == 0 ? Tensor() : longs({}, {length}), longs({}, {1})})[0];
    REQUIRE(y.sizes() == std::vector<std::int64_t>{1, static_cast<std::int64_t>(wanted.size()), 1});
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(y.number(static_cast<std::int64_t>(i)) == doctest::Approx(wanted[i]).epsilon(1e-5));
  };
  check(0, {0.83333333, 0.00598306, 0.73803387, -0.16666667, -1.57136721, 1.1606836});
  check(7, {0.57142857, -0.75527155, 1.92296669, -1.3750826, 0.93641294, -2.5052616, 2.20480755});
  check(4, {1.375, 0.625, -0.625, -0.375});
  check(9, {0.44444444, -1.27886678, 1.53297227, 0.38091147, -0.95292397, 0.73231819, -1.15868925, -1.14299447,
            2.4428281});
}

TEST_CASE("frames of a signal without a dim of parts: numpy's rfft") {
  const Tensor x = floats({2, 6}, {1, -2, 3, 0.5F, 4, -1, 0, 1, 2, 3, 4, 5});
  const OneNode stft{"STFT", 17};
  const std::vector<double> wanted{2.5, 0, -2, 2.5, 5.5, 0, 6.5, 0, -1, -1.5, 7.5, 0,
                                   6,   0, -2, 2,   -2,  0, 14,  0, -2, 2,    -2,  0};
  const auto check = [&](const Tensor& signal) {
    const Tensor y = stft.run({signal, longs({}, {2}), Tensor(), longs({}, {4})})[0];
    REQUIRE(y.sizes() == std::vector<std::int64_t>{2, 2, 3, 2});
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(y.number(static_cast<std::int64_t>(i)) == doctest::Approx(wanted[i]).epsilon(1e-5).scale(1));
  };
  check(x);
  check(floats({2, 6, 1}, {1, -2, 3, 0.5F, 4, -1, 0, 1, 2, 3, 4, 5}));
}

}  // namespace ferry::test
