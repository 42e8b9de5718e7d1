#include <doctest/doctest.h>

#include <cmath>

#include "ops/nn.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;

/// Mean and variance of some numbers.
struct Moments {
  double mean = 0, variance = 0;
};

template <class At>
Moments moments(int n, const At& at) {
  Moments of;
  for (int i = 0; i < n; ++i) of.mean += at(i) / n;
  for (int i = 0; i < n; ++i) of.variance += (at(i) - of.mean) * (at(i) - of.mean) / n;
  return of;
}

TEST_CASE("layer_norm: mean 0 and variance 1 along an axis, then scaled and moved") {
  Graph g;
  const std::vector<double> numbers{1, 2, 4, 8, -3, 0, 5, 5};
  const Value x = g.constant(Tensor::of<double>({2, 4}, std::span<const double>(numbers)));
  const Value scale = g.constant(Tensor::of<double>({4}, {1, 2, 3, 4}));
  const Value y = layer_norm(x, scale, g.constant(Tensor::of<double>({4}, {0, 0, 0, 7})), -1, 0.5);
  const Tensor got = test::Evaluator(g).run({y})[0];
  for (int row = 0; row < 2; ++row) {
    const Moments of = moments(4, [&](int i) { return numbers[static_cast<std::size_t>(4 * row + i)]; });
    for (int i = 0; i < 4; ++i) {
      const auto at = static_cast<std::size_t>(4 * row + i);
      const double wanted = (numbers[at] - of.mean) / std::sqrt(of.variance + 0.5) * (i + 1) + (i == 3 ? 7 : 0);
      CHECK(got.data<double>()[at] == doctest::Approx(wanted));
    }
  }
}

TEST_CASE("batch_norm: each channel over the batch and the image") {
  Graph g;
  std::vector<double> numbers(2 * 3 * 2 * 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * i % 17);
  const Value x = g.constant(Tensor::of<double>({2, 3, 2, 2}, std::span<const double>(numbers)));
  const Value scale = g.constant(Tensor::of<double>({3}, {1, 2, 3}));
  const Value offset = g.constant(Tensor::of<double>({3}, {0, 1, 0}));
  const BatchNorm normal = batch_norm(x, scale, offset, 0.25);
  const Value later = batch_norm(x, scale, offset, normal.mean, normal.variance, 0.25);
  const auto got = test::Evaluator(g).run({normal.y, normal.mean, normal.variance, later});
  for (int channel = 0; channel < 3; ++channel) {
    const auto place = [&](int i) { return static_cast<std::size_t>(i / 4 * 12 + channel * 4 + i % 4); };
    const Moments of = moments(8, [&](int i) { return numbers[place(i)]; });
    CHECK(got[1].data<double>()[static_cast<std::size_t>(channel)] == doctest::Approx(of.mean));
    CHECK(got[2].data<double>()[static_cast<std::size_t>(channel)] == doctest::Approx(of.variance));
    for (int i = 0; i < 8; ++i) {
      const double wanted =
          (numbers[place(i)] - of.mean) / std::sqrt(of.variance + 0.25) * (channel + 1) + (channel == 1 ? 1 : 0);
      CHECK(got[0].data<double>()[place(i)] == doctest::Approx(wanted));
      CHECK(got[3].data<double>()[place(i)] == doctest::Approx(wanted));
    }
  }
  const Value row = g.constant(Tensor::of<double>({24}, std::span<const double>(numbers)));
  CHECK(error_of([&] { batch_norm(row, scale, offset); }).find("has no channels\n  at norm_test.cpp:") !=
        std::string::npos);
}

}  // namespace
}  // namespace ferry
