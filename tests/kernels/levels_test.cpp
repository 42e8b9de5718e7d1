// Kernel levels: on arrays that are longer than any vector register, all instruction sets give the same bits.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/kernel.hpp"
#include "kernels/shared/slide.hpp"
#include "ops/array/array.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

TEST_CASE("products of matrices have code for the processor, also where it is newer than OpenBLAS") {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  CHECK((cpu_kernels().level() == "x86-64" || cpu_kernels().library() != "openblas-Prescott"));
}

TEST_CASE_TEMPLATE("long rows have the same bits by any instruction set", T, float, double) {
  Graph g;
  const DType dtype = dtype_of<T>();
  const Value x = normal(g, {37, 333}, 0, 2, dtype);
  const Value y = uniform(g, {37, 333}, 0.1, 3, dtype);
  const Values all{x,
                   y,
                   x + y,
                   x * y,
                   x + sum(x, {0}),
                   x - sum(y, {1}, true),
                   x / y,
                   pow(y, x),
                   exp(x),
                   log(y),
                   tanh(x),
                   sigmoid(x),
                   erf(x),
                   sqrt(y),
                   rsqrt(y),
                   relu(x),
                   softmax(x),
                   log_softmax(x),
                   sum(x, {0}),
                   sum(x, {1}),
                   mean(x),
                   max(x, {1}),
                   argmax(x, 1),
                   select(less(x, y), x, y),
                   cast(x, DType::int32),
                   transpose(x, {1, 0})};
  std::vector<Tensor> baseline;
  for (const KernelTable& level : cpu_kernel_levels()) {
    CAPTURE(level.level());
    test::EvaluateOptions options;
    options.kernels = &level;
    for (const bool stream : {false, true}) {
      CAPTURE(stream);
      options.stream = stream;
      const std::vector<Tensor> got = test::Evaluator(g, options).run(all);
      if (baseline.empty()) baseline = got;
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        CHECK(got[i].same_bits(baseline[i]));
      }
    }
  }
}

TEST_CASE("softmax along rows and along columns has the same bits") {
  Graph g;
  const Value x = normal(g, {37, 333}, 0, 2);
  const Value along_columns = transpose(softmax(transpose(x, {1, 0}), 0), {1, 0});
  const std::vector<Tensor> got = test::Evaluator(g).run({softmax(x), along_columns});
  CHECK(got[0].same_bits(got[1]));
}

TEST_CASE("argmax finds the first of the largest, and the first NaN, of a long row") {
  std::vector<float> equal(200, 1), bad(200, 1);
  equal[130] = equal[150] = 2;
  bad[5] = 3;
  bad[170] = bad[190] = std::nanf("");
  Graph g;
  const Values all{argmax(g.constant(Tensor::of<float>({200}, equal))),
                   argmax(g.constant(Tensor::of<float>({200}, bad)))};
  for (const KernelTable& level : cpu_kernel_levels()) {
    CAPTURE(level.level());
    test::EvaluateOptions options;
    options.kernels = &level;
    const std::vector<Tensor> got = test::Evaluator(g, options).run(all);
    CHECK(got[0].number(0) == 130);
    CHECK(got[1].number(0) == 170);
  }
}

/// Numbers with many equal ones, zeros of both signs, -inf, and two kinds of NaN.
std::vector<float> awkward_numbers(std::int64_t n, bool nan) {
  const float inf = std::numeric_limits<float>::infinity();
  const float some[] = {0.0F, -0.0F, -1.0F, -inf, 0.0F, -0.0F, 2.0F, inf, std::nanf("1"), std::nanf("2")};
  std::vector<float> x;
  for (std::uint32_t i = 0, state = 1; i < n; ++i) {
    state = state * 1664525 + 1013904223;
    x.push_back(some[(state >> 16) % (i % 16 != 0 ? 6 : nan ? 10 : 7)]);
  }
  return x;
}

/// The largest of each window, the first of equal ones; a NaN is the largest.
std::vector<float> largest_of_windows(const std::vector<float>& x, Plane image, Plane window, const Sliding& sliding) {
  const std::int64_t *stride = sliding.strides.data(), *padding = sliding.padding.data();
  const auto count = [](std::int64_t n, std::int64_t taps, std::int64_t before, std::int64_t after, std::int64_t step) {
    return (n + before + after - taps) / step + 1;
  };
  std::vector<float> y;
  const std::int64_t rows = count(image.rows, window.rows, padding[0], padding[2], stride[0]);
  const std::int64_t columns = count(image.columns, window.columns, padding[1], padding[3], stride[1]);
  for (std::int64_t p = 0; p < rows; ++p)
    for (std::int64_t q = 0; q < columns; ++q) {
      float most = -std::numeric_limits<float>::infinity();
      for (std::int64_t u = 0; u < window.rows; ++u)
        for (std::int64_t v = 0; v < window.columns; ++v) {
          const std::int64_t row = p * stride[0] - padding[0] + u, column = q * stride[1] - padding[1] + v;
          if (row < 0 || row >= image.rows || column < 0 || column >= image.columns) continue;
          const float here = x[row * image.columns + column];
          if (!(here <= most) && most == most) most = here;
        }
      y.push_back(most);
    }
  return y;
}

TEST_CASE("max_pool2d keeps the first of equal elements and of NaN, by any instruction set") {
  struct Pooled {
    Plane image, window;
    Sliding sliding;
  };
  const Pooled all[] = {{{23, 37}, {3, 3}, {{2, 2}, {0, 0, 0, 0}}},  {{24, 75}, {3, 3}, {{2, 2}, {1, 1, 1, 1}}},
                        {{14, 34}, {2, 2}, {{2, 2}, {0, 0, 0, 0}}},  {{13, 13}, {2, 2}, {{2, 2}, {0, 0, 1, 1}}},
                        {{9, 20}, {3, 1}, {{1, 2}, {0, 0, 0, 0}}},   {{10, 10}, {5, 5}, {{1, 1}, {2, 2, 2, 2}}},
                        {{12, 300}, {2, 3}, {{1, 1}, {0, 0, 0, 0}}}, {{17, 50}, {2, 5}, {{3, 3}, {1, 2, 1, 2}}},
                        {{11, 40}, {1, 2}, {{2, 4}, {0, 0, 0, 0}}},  {{3000, 1}, {2000, 1}, {{1, 1}, {0, 0, 0, 0}}},
                        {{14, 14}, {2, 2}, {{2, 2}, {0, 0, 0, 0}}},  {{29, 31}, {2, 2}, {{2, 2}, {0, 0, 0, 0}}},
                        {{6, 7}, {2, 2}, {{2, 2}, {0, 0, 0, 0}}},    {{40, 700}, {2, 2}, {{2, 2}, {0, 0, 0, 0}}}};
  for (const Pooled& pooled : all)
    for (const bool nan : {false, true}) {
      const Plane &image = pooled.image, &window = pooled.window;
      CAPTURE(image.rows);
      CAPTURE(image.columns);
      CAPTURE(nan);
      const std::vector<float> x = awkward_numbers(image.area(), nan),
                               wanted = largest_of_windows(x, image, window, pooled.sliding);
      Graph g;
      const Value y = max_pool2d(g.constant(Tensor::of<float>({1, 1, image.rows, image.columns}, x)),
                                 {window.rows, window.columns}, pooled.sliding);
      for (const KernelTable& level : cpu_kernel_levels()) {
        CAPTURE(level.level());
        test::EvaluateOptions options;
        options.kernels = &level;
        const Tensor got = test::Evaluator(g, options).run({y})[0];
        REQUIRE(got.data<float>().size() == wanted.size());
        CHECK(std::memcmp(got.data<float>().data(), wanted.data(), wanted.size() * sizeof(float)) == 0);
      }
    }
}

TEST_CASE("levels are listed from the least to the highest, each with all kernels") {
  const auto levels = cpu_kernel_levels();
  CHECK(&cpu_kernels() == &levels.back());
  for (const KernelTable& level : levels) {
    CHECK(level.library() == levels.front().library());
    CHECK(level.find("Add") != nullptr);
    CHECK(level.find("ReadNpy") != nullptr);
  }
}

}  // namespace
}  // namespace ferry
