#include "ops/image/sample.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "ops/array/array.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::some;
using Numbers = std::vector<double>;

Tensor run(const Value& value) {
  return test::Evaluator(value.graph()).run({value})[0];
}

void check_near(const Tensor& a, const Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  for (std::int64_t i = 0; i < a.count(); ++i) CHECK(a.number(i) == doctest::Approx(b.number(i)));
}

/// The row 1 2 4 8 sampled at coordinates that are -1 at its beginning and 1 at its end.
Numbers row(const Numbers& at, const Sampling& sampling) {
  Graph g;
  const auto count = static_cast<std::int64_t>(at.size());
  const Value x = g.constant(Tensor::of<double>({1, 1, 4}, {1, 2, 4, 8}));
  const Tensor y = run(grid_sample(x, g.constant(Tensor::of<double>({1, count, 1}, std::span(at))), sampling));
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(y.number(i));
  return numbers;
}

void check(const Numbers& got, const Numbers& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]));
}

constexpr Interpolation kNearest = Interpolation::nearest, kLinear = Interpolation::linear,
                        kCubic = Interpolation::cubic;

TEST_CASE("grid_sample: places between -1 and 1, of edges or of middles") {
  check(row({-1, -0.75, -0.5, 0, 0.75, 1}, {}), {0.5, 1, 1.5, 3, 8, 4});
  check(row({-1, -0.5, 0, 1}, {kLinear, Outside::zeros, true}), {1, 1.75, 3, 8});
  check(row({-0.8, -0.3, 0.1, 0.6}, {kNearest}), {1, 2, 4, 8});
}

TEST_CASE("grid_sample: cubic at the border: each of the four neighbours is moved there, not the place") {
  const auto weight = [](double d) {  // Keys' kernel with a = -0.75
    return d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
  };
  const Numbers x{1, 2, 4, 8};
  const auto at = [&](double place) {
    double sum = 0;
    for (auto k = static_cast<int>(std::floor(place)) - 1; k <= static_cast<int>(std::floor(place)) + 2; ++k)
      sum += weight(std::abs(place - k)) * x[std::clamp(k, 0, 3)];
    return sum;
  };
  // Coordinate c is the place 2 * (c + 1) - 0.5.
  check(row({-1.3, -1.1, -0.9, 0.95, 1.2, 3}, {kCubic, Outside::border}),
        {at(-1.1), at(-0.7), at(-0.3), at(3.4), at(3.9), 8});
}

TEST_CASE("grid_sample: outside") {
  check(row({-1.5, -1.25, 1.5}, {kLinear, Outside::zeros}), {0, 0, 0});
  check(row({-1.5, -1, 1.5}, {kLinear, Outside::border}), {1, 1, 8});
  // Coordinates are reflected at the edges -1 and 1: -1.25 to -0.75, the first element; 1.5 to 0.5, between the last
  // two.
  check(row({-1.25, 1.5, 3}, {kLinear, Outside::reflection}), {1, 6, 1});
  // With aligned corners, -1 and 1 are the centres of the outer elements: -5/3 and 7/3 are reflected to -1/3,
  // element 1.
  check(row({-5.0 / 3, 7.0 / 3}, {kLinear, Outside::reflection, true}), {2, 2});
  check(row({-1.25, 1.25}, {kNearest, Outside::reflection}), {1, 8});
}

TEST_CASE("grid_sample: cubic") {
  const double far = -0.09375, near = 0.59375;  // Keys' cubic kernel, a = -0.75, at distances 1.5 and 0.5
  check(row({0}, {kCubic}), {far * 1 + near * 2 + near * 4 + far * 8});
  check(row({-0.75}, {kCubic}), {1});
  check(row({0.5}, {kCubic, Outside::zeros}), {far * 2 + near * 4 + near * 8});
  check(row({0.5}, {kCubic, Outside::border}), {far * 2 + near * 4 + near * 8 + far * 8});
}

TEST_CASE("affine_grid and grid_sample: the identity gives the image, of two and three dims") {
  for (bool align : {false, true})
    for (const Ints& sizes : {Ints{4, 5}, Ints{3, 4, 5}}) {
      Graph g;
      const auto dims = static_cast<std::int64_t>(sizes.size());
      Ints all{2, 3};
      all.insert(all.end(), sizes.begin(), sizes.end());
      const Tensor image = some(all, 0.3);
      Tensor theta(DType::float64, {2, dims, dims + 1});
      for (std::int64_t n = 0; n < 2; ++n)
        for (std::int64_t d = 0; d < dims; ++d)
          theta.mutable_data<double>()[(n * dims + d) * (dims + 1) + d] = n == 0 ? 1 : -1;
      const Value grid = affine_grid(g.constant(theta), sizes, align);
      const Tensor y = run(grid_sample(g.constant(image), grid, {kLinear, Outside::border, align}));
      REQUIRE(y.sizes() == image.sizes());
      const std::int64_t half = image.count() / 2, area = checked_count(sizes);
      for (std::int64_t i = 0; i < half; ++i) {
        CHECK(y.number(i) == doctest::Approx(image.number(i)));
        const std::int64_t turned = i / area * area + area - 1 - i % area;  // by theta: all dims reversed
        CHECK(y.number(half + i) == doctest::Approx(image.number(half + turned)));
      }
    }
}

TEST_CASE("grid_sample is differentiable in the image and in the grid") {
  const Tensor image = some({1, 2, 4, 3}, 0.3), grid = some({1, 2, 2, 2}, 0.7);
  for (Interpolation interpolation : {kLinear, kCubic}) {
    const auto loss = [&](Graph& g, const Tensor& x, const Tensor& places, Values* inputs) {
      const Value a = g.constant(x), b = g.constant(places);
      if (inputs != nullptr) *inputs = {a, b};
      return sum(square(grid_sample(a, b, {interpolation, Outside::reflection})));
    };
    Graph g;
    Values inputs;
    const Value y = loss(g, image, grid, &inputs);
    const Values gradient = gradients(y, inputs);
    const std::vector<Tensor> exact = test::Evaluator(g).run(gradient);
    for (std::size_t k = 0; k < 2; ++k)
      for (std::int64_t i = 0; i < inputs[k].shape().count(); ++i) {
        const auto moved = [&](double by) {
          Tensor tensors[] = {Tensor::of<double>(image.sizes(), image.data<double>()),
                              Tensor::of<double>(grid.sizes(), grid.data<double>())};
          tensors[k].mutable_data<double>()[i] += by;
          Graph other;
          return run(loss(other, tensors[0], tensors[1], nullptr)).number(0);
        };
        CHECK(exact[k].number(i) == doctest::Approx((moved(1e-6) - moved(-1e-6)) / 2e-6).epsilon(1e-5).scale(1));
      }
  }
}

TEST_CASE("roi_align: means of samples in regions of chosen images") {
  Graph g;
  Tensor ramp(DType::float64, {2, 1, 6, 8});  // 100 * image + 10 * row + column
  for (std::int64_t i = 0; i < ramp.count(); ++i)
    ramp.mutable_data<double>()[i] = static_cast<double>(i / 48 * 100 + i % 48 / 8 * 10 + i % 8);
  const Value x = g.constant(ramp);
  const Value regions = g.constant(Tensor::of<double>({2, 4}, {2, 2, 10, 6, 4, 4, 12, 8}));
  const Value images = g.constant(Tensor::of<std::int64_t>({2}, {1, 0}));
  // The first region, scaled by a half: x 1 to 5, y 1 to 3, in two parts each; half_pixel moves samples by -0.5.
  const Tensor y = run(roi_align(x, regions, images, {2, 2, 2, 0.5}));
  check_near(y, Tensor::of<double>({2, 1, 2, 2}, {111.5, 113.5, 121.5, 123.5, 22.5, 24.5, 32.5, 34.5}));
  const Tensor corners = run(roi_align(x, regions, images, {2, 2, 2, 0.5, false}));
  CHECK(corners.number(0) == doctest::Approx(117));
  const Tensor largest = run(roi_align(x, regions, images, {1, 1, 1, 0.5, true, true}));
  CHECK(largest.number(0) == doctest::Approx(123 / 4.0));  // of 112, 113, 122 and 123, each times its weight 1/4
  CHECK(error_of([&] { roi_align(x, images, images, {}); }).find("must be [r,4]") != std::string::npos);
}

TEST_CASE("deform_conv: without offsets it is conv2d; offsets move taps, masks weigh them") {
  Graph g;
  const Tensor image = some({2, 4, 6, 5}, 0.3);
  const Value x = g.constant(image), w = g.constant(some({6, 2, 3, 2}, 0.7));
  const Deforming deforming{{{2, 1}, {1, 0, 1, 1}, {1, 2}}, 2, 2};
  const Value plain = conv2d(x, w, deforming.sliding, 2);
  const Value still = g.constant(Tensor(DType::float64, {2, 24, 3, 4}));
  check_near(run(deform_conv(x, w, still, deforming)), run(plain));

  // Offsets that move all taps one row down give what the image without its first row gives.
  Tensor down(DType::float64, {2, 24, 3, 4});
  for (std::int64_t i = 0; i < down.count(); ++i) down.mutable_data<double>()[i] = i / 12 % 2 == 0 ? 1 : 0;
  const Value lower = pad(slice(x, 2, 1), {0, 0, 0, 0}, {0, 0, 1, 0});
  Deforming inner = deforming;
  inner.sliding.padding = {0, 0, 0, 1};
  const auto cut = [&](const Value& offsets) { return slice(offsets, 2, 0, 2); };
  check_near(run(deform_conv(x, w, cut(g.constant(down)), inner)), run(conv2d(lower, w, inner.sliding, 2)));

  Deforming weighed = deforming;
  Tensor half(DType::float64, {2, 12, 3, 4});
  for (double& number : half.mutable_data<double>()) number = 0.5;
  weighed.mask = g.constant(half);
  check_near(run(deform_conv(x, w, still, weighed)), run(plain * 0.5));
  CHECK(error_of([&] {
          deform_conv(x, w, cut(still), {{}, 1, 3});
        }).find("do not fit x [2,4,6,5]") != std::string::npos);
}

}  // namespace
}  // namespace ferry
