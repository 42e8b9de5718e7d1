// Depthwise convolutions and their gradients, compared with their definition. The numbers are integers that floats hold
// exactly. Random numbers must give the same bits for any instruction set, any number of threads, and any part of the
// output.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "ops/array/array.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/random.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

/// A convolution with `targets` target channels for each of `channels` source channels.
struct Case {
  std::int64_t images, channels, targets;
  std::int64_t rows, columns, filter_rows, filter_columns;
  Sliding sliding = {};

  [[nodiscard]] std::int64_t outputs(std::size_t dim, std::int64_t image, std::int64_t taps) const {
    const std::int64_t padded = image + sliding.padding[dim] + sliding.padding[dim + 2];
    const std::int64_t under = (taps - 1) * sliding.dilations[dim] + 1;
    return padded < under ? 0 : (padded - under) / sliding.strides[dim] + 1;
  }
  [[nodiscard]] std::int64_t output_rows() const { return outputs(0, rows, filter_rows); }
  [[nodiscard]] std::int64_t output_columns() const { return outputs(1, columns, filter_columns); }
  [[nodiscard]] Ints image_sizes() const { return {images, channels, rows, columns}; }
  [[nodiscard]] Ints filter_sizes() const { return {channels * targets, 1, filter_rows, filter_columns}; }
  [[nodiscard]] Ints output_sizes() const { return {images, channels * targets, output_rows(), output_columns()}; }
};

/// The elements of a tensor of these sizes; all are zero.
template <class T>
std::vector<T> zeros(const Ints& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return std::vector<T>(static_cast<std::size_t>(count));
}

template <class T>
std::vector<T> whole_numbers(const Ints& sizes, std::mt19937& random) {
  std::vector<T> numbers = zeros<T>(sizes);
  for (T& number : numbers) number = static_cast<T>(random() % 17) - 8;
  return numbers;
}

/// Calls each(element of the output, element of the image, element of the filter) for all products of a convolution.
template <class Each>
void for_products(const Case& of, const Each& each) {
  std::int64_t y = 0;
  const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t plane = 0; plane < of.images * of.channels * of.targets; ++plane)
    for (std::int64_t row = 0; row < of.output_rows(); ++row)
      for (std::int64_t column = 0; column < of.output_columns(); ++column, ++y)
        for (std::int64_t k = 0; k < of.filter_rows; ++k)
          for (std::int64_t l = 0; l < of.filter_columns; ++l) {
            const Sliding& to = of.sliding;
            const std::int64_t r = row * to.strides[0] - to.padding[0] + k * to.dilations[0];
            const std::int64_t c = column * to.strides[1] - to.padding[1] + l * to.dilations[1];
            if (r < 0 || r >= of.rows || c < 0 || c >= of.columns) continue;
            const std::int64_t filter_row = plane % (of.channels * of.targets) * of.filter_rows + k;
            each(index(y), index((plane / of.targets * of.rows + r) * of.columns + c),
                 index(filter_row * of.filter_columns + l));
          }
}

/// Checks a convolution and its two gradients.
template <class T>
void check_sums(const Case& of, std::mt19937& random) {
  const auto x = whole_numbers<T>(of.image_sizes(), random), w = whole_numbers<T>(of.filter_sizes(), random),
             dy = whole_numbers<T>(of.output_sizes(), random);
  auto y = zeros<T>(of.output_sizes()), dx = zeros<T>(of.image_sizes()), dw = zeros<T>(of.filter_sizes());
  for_products(of, [&](std::size_t output, std::size_t image, std::size_t filter) {
    y[output] += x[image] * w[filter];
    dx[image] += dy[output] * w[filter];
    dw[filter] += dy[output] * x[image];
  });
  const auto tensor = [](const Ints& sizes, const std::vector<T>& numbers) { return Tensor::of<T>(sizes, numbers); };
  Graph g;
  const Value image = g.constant(tensor(of.image_sizes(), x)), filter = g.constant(tensor(of.filter_sizes(), w));
  const Value output = conv2d(image, filter, of.sliding, of.channels);
  const Values gradients = pullback({output}, {g.constant(tensor(of.output_sizes(), dy))}, Values{image, filter});
  test::Threads parallel(2);
  test::EvaluateOptions options;
  options.parallel = &parallel;
  const std::vector<Tensor> got = test::Evaluator(g, options).run(Values{output, gradients[0], gradients[1]});
  CHECK(got[0].same_bits(tensor(of.output_sizes(), y)));
  CHECK(got[1].same_bits(tensor(of.image_sizes(), dx)));
  CHECK(got[2].same_bits(tensor(of.filter_sizes(), dw)));
}

/// Checks that all instruction sets and thread counts give the same bits of the output and of both gradients. Also
/// checks that a part of the output has the bits that it has in the whole output.
void check_bits(const Case& of) {
  Graph g;
  const Value x = normal(g, Shape(std::span<const std::int64_t>(of.image_sizes()))),
              w = normal(g, Shape(std::span<const std::int64_t>(of.filter_sizes())));
  const Value y = conv2d(x, w, of.sliding, of.channels);
  const std::int64_t part = (of.output_columns() + 2) / 3;
  Sliding left = of.sliding;  // the first `part` columns
  left.padding[3] += (part - of.output_columns()) * of.sliding.strides[1];
  Values all{y, slice(y, 3, 0, part)};
  for (const Value& gradient : pullback({y}, {normal(g, y.shape())}, Values{x, w})) all.push_back(gradient);
  const std::int64_t cut = std::max<std::int64_t>(0, -left.padding[3]);
  left.padding[3] = std::max<std::int64_t>(0, left.padding[3]);
  const bool has_part = cut < of.columns;
  if (has_part) all.push_back(conv2d(slice(x, 3, 0, of.columns - cut), w, left, of.channels));
  std::vector<Tensor> first;
  for (const KernelTable& level : cpu_kernel_levels())
    for (const int threads : {1, 3}) {
      test::Threads parallel(threads);
      test::EvaluateOptions options;
      options.kernels = &level;
      options.parallel = &parallel;
      const std::vector<Tensor> got = test::Evaluator(g, options).run(all);
      if (first.empty()) first = got;
      CHECK(got[0].same_bits(first[0]));
      CHECK(got[2].same_bits(first[2]));
      CHECK(got[3].same_bits(first[3]));
      if (has_part) CHECK(got[1].same_bits(got[4]));
    }
}

void check(const Case& of, std::mt19937& random) {
  std::string settings;  // strides, padding, dilations
  CAPTURE(of.channels);
  CAPTURE(of.targets);
  CAPTURE(of.rows);
  CAPTURE(of.columns);
  CAPTURE(of.filter_rows);
  CAPTURE(of.filter_columns);
  for (const Ints& numbers : {of.sliding.strides, of.sliding.padding, of.sliding.dilations})
    for (const std::int64_t number : numbers) settings += std::to_string(number) + ' ';
  CAPTURE(settings);
  check_sums<float>(of, random);
  check_sums<double>(of, random);
  check_bits(of);
}

TEST_CASE("depthwise convolutions of the sizes that networks have") {
  std::mt19937 random(1);
  for (const std::int64_t taps : {3, 5, 7})
    for (const std::int64_t stride : {1, 2})
      for (const std::int64_t size : {7, 14, 28, 60}) {
        const std::int64_t padding = taps / 2;
        check({1, 20, 1, size, size, taps, taps, {{stride, stride}, {padding, padding, padding, padding}, {1, 1}}},
              random);
      }
}

TEST_CASE("depthwise convolutions of unusual sizes") {
  std::mt19937 random(1);
  check({1, 1, 1, 1, 1, 1, 1, {{1, 1}, {0, 0, 0, 0}, {1, 1}}}, random);
  check({1, 1, 1, 1, 1, 7, 7, {{1, 1}, {3, 3, 3, 3}, {1, 1}}}, random);
  check({2, 17, 1, 1, 1, 3, 3, {{1, 1}, {1, 1, 1, 1}, {1, 1}}}, random);
  check({1, 3, 1, 1, 500, 1, 31, {{1, 1}, {0, 15, 0, 15}, {1, 1}}}, random);  // one row
  check({1, 3, 1, 500, 1, 31, 1, {{1, 1}, {15, 0, 15, 0}, {1, 1}}}, random);  // one column
  check({1, 2, 1, 3, 5000, 3, 3, {{1, 1}, {1, 1, 1, 1}, {1, 1}}}, random);    // rows longer than a stage
  check({1, 2, 1, 900, 9, 5, 5, {{1, 1}, {2, 2, 2, 2}, {1, 1}}}, random);     // columns longer than a stage
  check({1, 2, 1, 40, 40, 6, 17, {{2, 3}, {1, 11, 0, 0}, {3, 1}}}, random);   // too large for vectors of channels
  check_sums<float>({1, 2, 1, 90, 100, 16, 16, {{1, 1}, {0, 0, 0, 0}, {5, 5}}}, random);  // too large for a stage
  check({3, 5, 1, 6, 6, 3, 3, {{1, 1}, {1, 1, 1, 1}, {1, 1}}}, random);    // channels of several images together
  check({2, 5, 3, 12, 15, 3, 3, {{1, 1}, {1, 1, 1, 1}, {1, 1}}}, random);  // three targets
  check({2, 5, 3, 8, 8, 3, 3, {{1, 1}, {1, 1, 1, 1}, {1, 1}}}, random);
}

TEST_CASE("depthwise convolutions of random sizes") {
  std::mt19937 random(1);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random()) % (most - least + 1);
  };
  for (int i = 0; i < 60;) {
    Case of{from(1, 2), from(1, 35), from(0, 3) == 0 ? from(2, 7) : 1, from(1, 30), from(1, 40), from(1, 7), 1};
    of.filter_columns = from(0, 2) == 0 ? from(1, 7) : of.filter_rows;
    of.sliding.strides = {from(1, 3), from(1, 3)};
    of.sliding.padding = {from(0, 3), from(0, 3), from(0, 3), from(0, 3)};
    of.sliding.dilations = {from(1, 2), from(1, 2)};
    if (of.output_rows() < 1 || of.output_columns() < 1) continue;
    check(of, random);
    ++i;
  }
}

}  // namespace
}  // namespace ferry
