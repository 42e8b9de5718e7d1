#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "ops/array/reshape.hpp"
#include "ops/nn/norm.hpp"
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
    const Moments of = moments(4, [&](int i) { return numbers[4 * row + i]; });
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
  const NormalizedBatch normal = batch_norm(x, scale, offset, 0.25);
  const Value later = batch_norm(x, scale, offset, normal.mean, normal.variance, 0.25);
  const auto got = test::Evaluator(g).run({normal.y, normal.mean, normal.variance, later});
  for (int channel = 0; channel < 3; ++channel) {
    const auto place = [&](int i) { return static_cast<std::size_t>(i / 4 * 12 + channel * 4 + i % 4); };
    const Moments of = moments(8, [&](int i) { return numbers[place(i)]; });
    CHECK(got[1].data<double>()[channel] == doctest::Approx(of.mean));
    CHECK(got[2].data<double>()[channel] == doctest::Approx(of.variance));
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

/// Checks that the elements place(0) … place(n - 1) of `got` equal `numbers`, normalised by their mean and variance,
/// times `scale` plus `offset`.
template <class Place>
void check_normal(const std::vector<double>& numbers, const Tensor& got, double epsilon, int n, const Place& place,
                  double scale, double offset) {
  const Moments of = moments(n, [&](int i) { return numbers[place(i)]; });
  for (int i = 0; i < n; ++i) {
    const double wanted = (numbers[place(i)] - of.mean) / std::sqrt(of.variance + epsilon) * scale + offset;
    CHECK(got.data<double>()[place(i)] == doctest::Approx(wanted));
  }
}

struct Images {
  Images() : numbers(2 * 4 * 3) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * i % 17);
    x = g.constant(Tensor::of<double>({2, 4, 3}, std::span<const double>(numbers)));
  }
  [[nodiscard]] Tensor run(const Value& y) const { return test::Evaluator(g).run({y})[0]; }
  Graph g;
  std::vector<double> numbers;
  Value x;
  Value scale = g.constant(Tensor::of<double>({4}, {1, 2, 3, 4}));
  Value offset = g.constant(Tensor::of<double>({4}, {0, 1, 0, 7}));
};

TEST_CASE_FIXTURE(Images, "instance_norm and group_norm: images by themselves, channel by channel and in blocks") {
  const Value one = g.constant(Tensor::of<double>({4}, {1, 1, 1, 1}));
  const Tensor alone = run(instance_norm(x, scale, offset, 0.25));
  const Tensor pairs = run(group_norm(x, 2, one, one, 0.25));
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 4; ++c)
      check_normal(
          numbers, alone, 0.25, 3, [&](int i) { return n * 12 + c * 3 + static_cast<std::size_t>(i); },
          static_cast<double>(c + 1),
          c == 1   ? 1
          : c == 3 ? 7
                   : 0);
    for (std::size_t block = 0; block < 2; ++block)
      check_normal(
          numbers, pairs, 0.25, 6, [&](int i) { return n * 12 + block * 6 + static_cast<std::size_t>(i); }, 1, 1);
  }
  const Tensor same = run(group_norm(x, 4, scale, offset, 0.25));
  for (std::int64_t i = 0; i < 24; ++i) CHECK(same.number(i) == doctest::Approx(alone.number(i)));
  const std::string text = error_of([&] { group_norm(x, 3, scale, offset); });
  CHECK(text.find(" cannot be cut into 3 groups\n  at norm_test.cpp:") != std::string::npos);
  const Value many = g.input("many", DType::float64, {"batch", 4, 3});
  CHECK(group_norm(many, 2, scale, offset).shape().str() == "[batch,4,3]");
}

TEST_CASE_FIXTURE(Images, "normalize and rms_norm over several dims") {
  const Normalized all = normalize(x, {1, 2}, 0.25);
  const Tensor y = run(all.y), means = run(all.mean), inverses = run(all.inverse);
  const Tensor roots = run(rms_norm(x, g.constant(Tensor::of<double>({3}, {1, 1, 2})), {1, -1}, 0.25));
  for (std::size_t n = 0; n < 2; ++n) {
    const auto place = [&](int i) { return n * 12 + static_cast<std::size_t>(i); };
    check_normal(numbers, y, 0.25, 12, place, 1, 0);
    const Moments of = moments(12, [&](int i) { return numbers[place(i)]; });
    CHECK(means.data<double>()[n] == doctest::Approx(of.mean));
    CHECK(inverses.data<double>()[n] == doctest::Approx(1 / std::sqrt(of.variance + 0.25)));
    const double squares = of.variance + of.mean * of.mean;
    for (int i = 0; i < 12; ++i)
      CHECK(roots.data<double>()[place(i)] ==
            doctest::Approx(numbers[place(i)] / std::sqrt(squares + 0.25) * (i % 3 == 2 ? 2 : 1)));
  }
}

TEST_CASE_FIXTURE(Images, "local_response_norm: channels around, one more behind than before") {
  const Tensor y = run(local_response_norm(x, 4, 0.5, 0.75, 2));
  for (int n = 0; n < 2; ++n)
    for (int c = 0; c < 4; ++c)
      for (int i = 0; i < 3; ++i) {
        const auto place = [&](int channel) { return static_cast<std::size_t>(n * 12 + channel * 3 + i); };
        double squares = 0;
        for (int k = std::max(0, c - 1); k <= std::min(3, c + 2); ++k) squares += numbers[place(k)] * numbers[place(k)];
        CHECK(y.data<double>()[place(c)] == doctest::Approx(numbers[place(c)] / std::pow(2 + 0.125 * squares, 0.75)));
      }
  CHECK(error_of([&] { local_response_norm(x, 0); }).starts_with("local_response_norm: a size of 0 channels\n"));
}

TEST_CASE_FIXTURE(Images, "lp_normalize: norms of 1, and zeros stay") {
  const Value rows = g.constant(Tensor::of<double>({3, 2}, {3, -4, 0, 0, 1, 1}));
  CHECK(run(lp_normalize(rows, -1, 1)).str() == "[[0.4285714286 -0.5714285714] [0 0] [0.5 0.5]]");
  CHECK(run(lp_normalize(rows)).str() == "[[0.6 -0.8] [0 0] [0.7071067812 0.7071067812]]");
}

/// The largest error of `got`, which must be x with each block of `block` elements normalised by itself, compared with
/// float64.
double worst_of_blocks(const Tensor& x, const Tensor& got, int block) {
  double worst = 0;
  for (std::int64_t b = 0; b < x.count(); b += block) {
    const Moments of = moments(block, [&](int i) { return x.number(b + i); });
    for (int i = 0; i < block; ++i)
      worst =
          std::max(worst, std::abs(got.number(b + i) - (x.number(b + i) - of.mean) / std::sqrt(of.variance + 1e-5)));
  }
  return worst;
}

TEST_CASE("norms lose nothing to a mean that is large beside the deviations") {
  Tensor numbers(DType::float32, {2, 4, 96});
  for (std::int64_t i = 0; auto& number : numbers.mutable_data<float>())
    number = 1e7F + static_cast<float>(i % 96 * 37 % 11 + i / 96), ++i;
  Graph g;
  const Value x = g.constant(numbers);
  const auto of = [&](std::int64_t size, float number) {
    Tensor made(DType::float32, {size});
    for (float& element : made.mutable_data<float>()) element = number;
    return g.constant(made);
  };
  const NormalizedBatch by_batch = batch_norm(reshape(x, {1, 8, 96}), of(8, 1), of(8, 0));
  const auto got = test::Evaluator(g).run({instance_norm(x, of(4, 1), of(4, 0)), layer_norm(x, of(96, 1), of(96, 0)),
                                           group_norm(x, 2, of(4, 1), of(4, 0)), by_batch.y, by_batch.mean});
  CHECK(worst_of_blocks(numbers, got[0], 96) < 1e-5);
  CHECK(worst_of_blocks(numbers, got[1], 96) < 1e-5);
  CHECK(worst_of_blocks(numbers, got[2], 192) < 1e-5);
  CHECK(worst_of_blocks(numbers, got[3], 96) < 1e-5);
  for (int channel = 0; channel < 8; ++channel) {
    const Moments wanted = moments(96, [&](int i) { return numbers.number(channel * 96 + i); });
    CHECK(std::abs(got[4].number(channel) - wanted.mean) <= 0.5);  // half of float32's precision at 1e7
  }
}

TEST_CASE("norms of equal numbers are 0, however large") {
  Graph g;
  Tensor numbers(DType::float32, {3, 77});
  for (std::int64_t i = 0; auto& number : numbers.mutable_data<float>())
    number = i++ < 77 ? 1e10F : (i < 155 ? 0.1F : -3e7F);
  const Tensor got = test::Evaluator(g).run({normalize(g.constant(numbers), {1}).y})[0];
  for (std::int64_t i = 0; i < got.count(); ++i) CHECK(std::abs(got.number(i)) < 0.1);
}

}  // namespace
}  // namespace ferry
