#include "ops/image/resize.hpp"

#include <doctest/doctest.h>

#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using Numbers = std::vector<double>;

/// Resizes a row of these numbers.
Numbers row(const Numbers& numbers, const ResizedDim& dim, const Resizing& resizing) {
  Graph g;
  const auto size = static_cast<std::int64_t>(numbers.size());
  const Value x = g.constant(Tensor::of<double>({size}, std::span<const double>(numbers)));
  const Tensor y = test::Evaluator(g).run({resize(x, {dim}, resizing)})[0];
  Numbers got;
  for (std::int64_t i = 0; i < y.count(); ++i) got.push_back(y.number(i));
  return got;
}

void check(const Numbers& got, const Numbers& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]));
}

constexpr Interpolation kLinear = Interpolation::linear, kCubic = Interpolation::cubic;

TEST_CASE("resize: where elements come from") {
  const Numbers x{10, 20, 40};
  const auto linear = [&](Coordinates coordinates, std::int64_t size) {
    return row(x, {0, size}, {kLinear, coordinates});
  };
  check(linear(Coordinates::half_pixel, 6), {10, 12.5, 17.5, 25, 35, 40});
  check(linear(Coordinates::align_corners, 5), {10, 15, 20, 30, 40});
  check(linear(Coordinates::asymmetric, 6), {10, 15, 20, 30, 40, 40});
  check(linear(Coordinates::half_pixel_floor, 6), {12.5, 17.5, 25, 35, 40, 40});
  check(linear(Coordinates::half_pixel, 1), {20});
  check(linear(Coordinates::pytorch_half_pixel, 1), {10});
  // 3 * 0.8 = 2.4 elements become 2: by half_pixel_symmetric each is 0.2 / 0.8 = 0.25 further from the edge.
  check(row(x, {0, 2, 0.8}, {kLinear, Coordinates::half_pixel}), {11.25, 27.5});
  check(row(x, {0, 2, 0.8}, {kLinear, Coordinates::half_pixel_symmetric}), {13.75, 32.5});
}

TEST_CASE("resize: a part of a dim, and what lies outside") {
  Resizing part{kLinear, Coordinates::crop};
  part.outside = -1;
  check(row({10, 20, 40}, {0, 3, 0, 0.5, 1}, part), {20, 30, 40});
  check(row({10, 20, 40}, {0, 3, 0, 0.5, 1.5}, part), {20, 40, -1});
  part.interpolation = Interpolation::nearest;
  check(row({10, 20, 40}, {0, 3, 0, -0.5, 0.5}, part), {-1, 10, 20});
}

TEST_CASE("resize: neighbours by rounding") {
  const Numbers x{1, 2, 3, 4};
  const auto nearest = [&](Rounding rounding) {
    return row(x, {0, 8}, {Interpolation::nearest, Coordinates::asymmetric, rounding});
  };
  check(nearest(Rounding::floor), {1, 1, 2, 2, 3, 3, 4, 4});
  check(nearest(Rounding::ceil), {1, 2, 2, 3, 3, 4, 4, 4});
  check(nearest(Rounding::prefer_floor), {1, 1, 2, 2, 3, 3, 4, 4});
  check(nearest(Rounding::prefer_ceil), {1, 2, 2, 3, 3, 4, 4, 4});
  check(row(x, {0, 3}, {}), {1, 2, 4});
}

TEST_CASE("resize: nearest places are computed in float32, as onnxruntime 1.32 and PyTorch do") {
  const auto nearest = [](std::int64_t from, const ResizedDim& dim, Coordinates coordinates, Rounding rounding) {
    Numbers x;
    for (std::int64_t i = 0; i < from; ++i) x.push_back(static_cast<double>(i));
    return row(x, dim, {Interpolation::nearest, coordinates, rounding});
  };
  const double third = 1 / 3.0F, tenth = 1.1F;  // as a model has them: rounded to float32
  check(nearest(30, {0, 10, third}, Coordinates::asymmetric, Rounding::floor), {0, 3, 6, 9, 12, 15, 18, 21, 24, 27});
  check({nearest(30, {0, 33, tenth}, Coordinates::asymmetric, Rounding::floor)[11]}, {10});
  // Places that are halves in truth are taken for ties: 0.5 / 0.14285715 is 3.4999998, 4.5 / 0.3 - 0.5 is 14.499999.
  check(nearest(7, {0, 1, 1 / 7.0F}, Coordinates::half_pixel_floor, Rounding::prefer_ceil), {4});
  check({nearest(30, {0, 9}, Coordinates::half_pixel, Rounding::prefer_ceil)[4]}, {15});
  check({nearest(30, {0, 9}, Coordinates::half_pixel, Rounding::prefer_floor)[4]}, {14});
  check(nearest(3, {0, 1, third}, Coordinates::half_pixel_symmetric, Rounding::floor), {0});
  check(nearest(7, {0, 2, third}, Coordinates::align_corners, Rounding::ceil), {0, 6});
  // The same size is the same image, whatever the scale says.
  check(nearest(2, {0, 2, tenth}, Coordinates::half_pixel, Rounding::floor), {0, 1});
  check(nearest(2, {0, 2}, Coordinates::half_pixel_floor, Rounding::ceil), {0, 1});
}

TEST_CASE("resize: cubic, with and without neighbours outside") {
  // Keys' cubic kernel with a = -0.75 at distances 1.25, 0.25, 0.75 and 1.75.
  const double far = -0.10546875, near = 0.87890625, next = 0.26171875, last = -0.03515625;
  CHECK(far + near + next + last == doctest::Approx(1));
  const Numbers x{1, 5, 2, 7, 3};
  check({row(x, {0, 10}, {kCubic})[5]}, {far * 5 + near * 2 + next * 7 + last * 3});
  check({row(x, {0, 10}, {kCubic})[1]}, {far * 1 + near * 1 + next * 5 + last * 2});
  Resizing inside{kCubic};
  inside.exclude_outside = true;
  check({row(x, {0, 10}, inside)[1]}, {(near * 1 + next * 5 + last * 2) / (near + next + last)});
}

TEST_CASE("resize: made smaller with all that an element covers") {
  Resizing smooth{kLinear};
  smooth.antialias = true;
  check(row({1, 2, 3, 4, 5, 6}, {0, 3}, smooth), {1.625, 3.5, 5.375});
}

TEST_CASE("resize: a long dim, by neighbours, as a short one by a matrix") {
  Numbers ramp(5000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i);
  const Numbers more = row(ramp, {0, 10000}, {kLinear});
  for (std::size_t i = 1; i + 1 < more.size(); i += 37)
    CHECK(more[i] == doctest::Approx(static_cast<double>(i) / 2 - 0.25));
  Resizing smooth{kCubic};
  smooth.antialias = true;
  const Numbers less = row(ramp, {0, 500}, smooth);
  for (std::size_t i = 2; i + 2 < less.size(); i += 13)
    CHECK(less[i] == doctest::Approx(10 * static_cast<double>(i) + 4.5));
}

TEST_CASE("resize: several dims of any dtype, and a batch that is not known") {
  Graph g;
  const Value x = g.constant(Tensor::of<std::int32_t>({1, 2, 2}, {1, 2, 3, 4}));
  const Tensor y = test::Evaluator(g).run({resize(x, {{1, 4}, {-1, 3}}, {})})[0];
  CHECK(y.str() == "[[[1 1 2] [1 1 2] [3 3 4] [3 3 4]]]");
  const Value image = g.constant(Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 4}));
  const Tensor z = test::Evaluator(g).run({resize(image, {{1, 4}, {2, 3}}, {kLinear})})[0];
  CHECK(z.type().str() == "float32[1,4,3,1]");
  CHECK(z.number(4) == doctest::Approx(2));  // in row 1, between 1.5 and 2.5
  const Value many = g.input("many", DType::float32, {"batch", 3, 4, 5});
  CHECK(resize(many, {{2, 8}, {3, 10}}, {kLinear}).shape().str() == "[batch,3,8,10]");
  CHECK(resize(many, {{1, 6}}, {kLinear}).shape().str() == "[batch,6,4,5]");
  CHECK(resize(many, {{2, 4}}, {kLinear}).is(many));
  CHECK(error_of([&] {
          resize(x, {{1, 4}}, {kLinear});
        }).starts_with("resize: of constant [1,2,2]: only nearest takes int32\n  at resize_test.cpp:"));
  CHECK(error_of([&] { resize(many, {{1, 20000}}, {}); }).find("a size of 20000 for 3\n") != std::string::npos);
  CHECK(error_of([&] { resize(many, {{0, 4}}, {}); }).find("the size of dim 0 must be known") != std::string::npos);
}

}  // namespace
}  // namespace ferry
