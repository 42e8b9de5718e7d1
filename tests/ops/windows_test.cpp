#include "ops/image/windows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ops/array/array.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/reduce.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::some;
using Numbers = std::vector<double>;

std::size_t flat(const Ints& sizes, const Ints& index) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + index[d];
  return static_cast<std::size_t>(at);
}

template <class Body>
void for_each_index(const Ints& sizes, const Body& body) {
  for (std::int64_t i = 0; i < checked_count(sizes); ++i) {
    Ints index(sizes.size());
    std::int64_t rest = i;
    for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
    body(index);
  }
}

std::vector<Tensor> run(Graph& g, const Values& values) {
  return test::Evaluator(g).run(values);
}

/// An image of one, two or three dims, and a window that slides over it.
struct Setup {
  Ints image, window, strides, padding, dilations;
  [[nodiscard]] Sliding sliding() const { return {strides, padding, dilations}; }
  [[nodiscard]] std::size_t dims() const { return image.size(); }
  /// Along dim d, the index in the image of tap k of the window at position p; negative in the padding.
  [[nodiscard]] std::int64_t place(std::size_t d, std::int64_t p, std::int64_t k) const {
    const std::int64_t at = p * strides[d] - padding[d] + k * dilations[d];
    return at < image[d] ? at : -1;
  }
};

const Setup kSetups[] = {{{9}, {3}, {2}, {1, 2}, {2}},
                         {{5, 6}, {3, 2}, {1, 2}, {2, 0, 0, 1}, {2, 1}},
                         {{5, 4, 6}, {3, 2, 2}, {2, 1, 1}, {1, 0, 1, 2, 1, 0}, {1, 2, 1}},
                         {{3, 2, 3}, {2, 2, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}}};

Ints joined(const Ints& a, const Ints& b) {
  Ints all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}
Ints image_of(const Ints& index) {
  return {index.begin() + 2, index.end()};
}

/// The indices of the image's elements under a window, row-major, without taps in the padding.
std::vector<Ints> under(const Setup& setup, const Ints& position) {
  std::vector<Ints> places;
  for_each_index(setup.window, [&](const Ints& tap) {
    Ints place;
    for (std::size_t d = 0; d < setup.dims(); ++d) place.push_back(setup.place(d, position[d], tap[d]));
    if (*std::min_element(place.begin(), place.end()) >= 0) places.push_back(place);
  });
  return places;
}

TEST_CASE("conv: one, two and three dims, by the definition") {
  for (const Setup& setup : kSetups)
    for (std::int64_t groups : {1, 2}) {
      CAPTURE(setup.dims());
      const Ints x_sizes = joined({2, 4}, setup.image), w_sizes = joined({6, 4 / groups}, setup.window);
      const Tensor x = some(x_sizes), w = some(w_sizes);
      Graph g;
      const Tensor y = run(g, {conv(g.constant(x), g.constant(w), setup.sliding(), groups)})[0];
      for_each_index(y.sizes(), [&](const Ints& at) {
        double sum = 0;
        for_each_index(joined({4 / groups}, setup.window), [&](const Ints& tap) {
          Ints pixel{at[0], at[1] / (6 / groups) * (4 / groups) + tap[0]};
          for (std::size_t d = 0; d < setup.dims(); ++d) pixel.push_back(setup.place(d, at[d + 2], tap[d + 1]));
          if (*std::min_element(pixel.begin(), pixel.end()) >= 0)
            sum += x.data<double>()[flat(x_sizes, pixel)] * w.data<double>()[flat(w_sizes, joined({at[1]}, tap))];
        });
        CHECK(y.data<double>()[flat(y.sizes(), at)] == doctest::Approx(sum));
      });
    }
}

TEST_CASE("conv_transpose is the gradient of conv in its image") {
  for (const Setup& setup : kSetups)
    for (std::int64_t groups : {1, 2}) {
      CAPTURE(setup.dims());
      Graph g;
      const Value image = g.constant(Tensor(DType::float64, joined({2, 4}, setup.image)));
      const Value w = g.constant(some(joined({6, 4 / groups}, setup.window)));
      const Value y = conv(image, w, setup.sliding(), groups);
      const Value dy = g.constant(some(y.shape().sizes()));
      Ints extra;  // elements at the end that no window reaches
      for (std::size_t d = 0; d < setup.dims(); ++d)
        extra.push_back((setup.image[d] + setup.padding[d] + setup.padding[d + setup.dims()] -
                         (setup.window[d] - 1) * setup.dilations[d] - 1) %
                        setup.strides[d]);
      const Value dx = conv_transpose(dy, w, setup.sliding(), groups, extra);
      const std::vector<Tensor> got = run(g, {dx, pullback({y}, {dy}, {{image}})[0]});
      REQUIRE(got[0].sizes() == got[1].sizes());
      for (std::size_t i = 0; i < got[0].data<double>().size(); ++i)
        CHECK(got[0].data<double>()[i] == doctest::Approx(got[1].data<double>()[i]));
    }
}

TEST_CASE("conv_transpose: elements behind those that the padding leaves are zeros") {
  Graph g;
  const Value x = g.constant(Tensor::of<float>({1, 1, 2}, {1, 2}));
  const Value w = g.constant(Tensor::of<float>({1, 1, 2}, {10, 1}));
  const Tensor y = run(g, {conv_transpose(x, w, {.strides = {3}, .padding = {1, 1}}, 1, {3})})[0];
  CHECK(y.str() == Tensor::of<float>({1, 1, 6}, {1, 0, 20, 2, 0, 0}).str());
}

TEST_CASE("col2im puts blocks back") {
  Graph g;
  const Value x = g.constant(
      Tensor::of<float>({1, 4, 6}, {1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 20, 30, 40, 50, 60}));
  const Tensor y = run(g, {col2im(x, {3, 4}, {2, 2})})[0];
  CHECK(y.str() == Tensor::of<float>({1, 1, 3, 4}, {1, 2, 3, 0, 4, 15, 26, 30, 0, 40, 50, 60}).str());
}

/// Checks that each element of y is join(the elements of x under its window).
template <class Join>
void check_pool(const Setup& setup, const Tensor& x, const Tensor& y, const Join& join) {
  for_each_index(y.sizes(), [&](const Ints& at) {
    Numbers numbers;
    for (const Ints& place : under(setup, image_of(at)))
      numbers.push_back(x.data<double>()[flat(x.sizes(), joined({at[0], at[1]}, place))]);
    CHECK(y.data<double>()[flat(y.sizes(), at)] == doctest::Approx(join(numbers)));
  });
}

double mean_of(const Numbers& numbers) {
  double sum = 0;
  for (double number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

const Setup kPools[] = {{{9}, {3}, {2}, {1, 2}, {1}},
                        {{9}, {3}, {1}, {1, 0}, {2}},
                        {{5, 6}, {3, 2}, {1, 2}, {2, 0, 0, 1}, {1, 1}},
                        {{7, 6}, {3, 2}, {1, 2}, {1, 0, 0, 1}, {2, 3}},
                        {{5, 4, 6}, {3, 2, 2}, {2, 1, 1}, {1, 0, 1, 2, 1, 0}, {1, 1, 1}}};

TEST_CASE("pooling: one, two and three dims, with and without dilations, by the definition") {
  for (const Setup& setup : kPools) {
    CAPTURE(setup.dims());
    const Tensor x = some(joined({2, 3}, setup.image));
    const Pooling pooling{setup.window, setup.sliding()};
    Graph g;
    const Value in = g.constant(x);
    const Largest largest = max_pool_indices(in, pooling);
    const std::vector<Tensor> got = run(g, {max_pool(in, pooling), largest.y, largest.indices, avg_pool(in, pooling),
                                            lp_pool(in, pooling, 3), lp_pool(in, pooling, 1), lp_pool(in, pooling)});
    check_pool(setup, x, got[0], [](const Numbers& n) { return *std::max_element(n.begin(), n.end()); });
    CHECK(got[0].same_bits(got[1]));
    for (std::size_t i = 0; i < got[1].data<double>().size(); ++i)
      CHECK(got[1].data<double>()[i] == x.data<double>()[got[2].data<std::int64_t>()[i]]);
    check_pool(setup, x, got[3], mean_of);
    const auto norm = [](double p) {
      return [p](const Numbers& numbers) {
        double sum = 0;
        for (double number : numbers) sum += std::pow(std::abs(number), p);
        return std::pow(sum, 1 / p);
      };
    };
    check_pool(setup, x, got[4], norm(3));
    check_pool(setup, x, got[5], norm(1));
    check_pool(setup, x, got[6], norm(2));
  }
}

TEST_CASE("pooling: a last window over the end, and padding that counts") {
  Graph g;
  const Value x = g.constant(Tensor::of<double>({1, 1, 5}, {1, 2, 3, 4, 6}));
  const auto pooled = [&](const Value& y) {
    const auto data = test::Evaluator(g).run({y})[0];
    return Numbers(data.data<double>().begin(), data.data<double>().end());
  };
  CHECK(pooled(max_pool(x, {{2}, {.strides = {2}}, true})) == Numbers{2, 4, 6});
  CHECK(pooled(avg_pool(x, {{2}, {.strides = {2}}, true})) == Numbers{1.5, 3.5, 6});
  CHECK(pooled(max_pool(x, {{2}, {.strides = {2}}})) == Numbers{2, 4});
  CHECK(pooled(avg_pool(x, {{2}, {.strides = {2}, .padding = {1, 0}}})) == Numbers{1, 2.5, 5});
  CHECK(pooled(avg_pool(x, {{2}, {.strides = {2}, .padding = {1, 0}}, false, true})) == Numbers{0.5, 2.5, 5});
  // The window at 4 covers the 6, the padding's zero, which counts, and an element behind the padding, which does not.
  CHECK(pooled(avg_pool(x, {{3}, {.strides = {2}, .padding = {0, 1}}, true, true})) == Numbers{2, 13.0 / 3, 3});
  // No window begins in the padding at the end.
  CHECK(pooled(max_pool(x, {{2}, {.strides = {5}, .padding = {0, 1}}, true})) == Numbers{2});
  CHECK(pooled(lp_pool(x, {{2}, {.strides = {2}, .padding = {1, 0}}}, 1)) == Numbers{1, 5, 10});
}

TEST_CASE("max_pool: integers, NaN, and the first of equal elements") {
  Graph g;
  const Value bytes = g.constant(Tensor::of<std::uint8_t>({1, 1, 4}, {7, 250, 3, 9}));
  const Value equal = g.constant(Tensor::of<float>({1, 2, 2, 2}, {1, 5, 5, 5, 2, 2, 2, 2}));
  const double nan = std::nan("");
  const Value bad = g.constant(Tensor::of<double>({1, 1, 3}, {1, nan, 2}));
  const Pooling square{{2, 2}};
  const std::vector<Tensor> got =
      run(g, {max_pool(bytes, {{3}, {.padding = {1}}}), max_pool_indices(equal, square).indices,
              max_pool_indices(equal, square, true).indices, max_pool(bad, {{2}, {.dilations = {2}}}),
              max_pool(bad, {{2}})});
  CHECK(got[0].str() == Tensor::of<std::uint8_t>({1, 1, 4}, {250, 250, 250, 9}).str());
  CHECK(got[1].str() == Tensor::of<std::int64_t>({1, 2, 1, 1}, {1, 4}).str());
  CHECK(got[2].str() == Tensor::of<std::int64_t>({1, 2, 1, 1}, {2, 4}).str());
  CHECK(got[3].data<double>()[0] == 2);
  CHECK(std::isnan(got[4].data<double>()[0]));
}

TEST_CASE("max_pool2d: the gradient goes to the first NaN, of equal elements, and of nothing but -inf") {
  Graph g;
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Value x = g.constant(Tensor::of<float>({1, 1, 2, 6}, {5, 5, 1, nan, -inf, -inf, 5, 5, nan, 2, -inf, -inf}));
  const Sliding whole{.strides = {2, 2}}, padded{.strides = {2, 2}, .padding = {1, 1}};
  const auto gradient = [&](const Sliding& sliding) { return gradients(sum(max_pool2d(x, {2, 2}, sliding)), {x})[0]; };
  const std::vector<Tensor> got = run(g, {gradient(whole), gradient(padded)});
  CHECK(got[0].str() == Tensor::of<float>({1, 1, 2, 6}, {1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0}).str());
  CHECK(got[1].str() == Tensor::of<float>({1, 1, 2, 6}, {1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1}).str());
}

TEST_CASE("max_unpool puts the largest back") {
  Graph g;
  const Value x = g.constant(some({2, 3, 4, 6}));
  const Largest largest = max_pool_indices(x, {{2, 2}, {.strides = {2, 3}}});
  const std::vector<Tensor> got = run(g, {max_unpool(largest.y, largest.indices, {4, 6}), x, largest.indices});
  std::size_t kept = 0;
  for (std::size_t i = 0; i < got[0].data<double>().size(); ++i) {
    const auto places = got[2].data<std::int64_t>();
    const bool is_largest = std::find(places.begin(), places.end(), static_cast<std::int64_t>(i)) != places.end();
    CHECK(got[0].data<double>()[i] == (is_largest ? got[1].data<double>()[i] : 0));
    kept += is_largest ? 1 : 0;
  }
  CHECK(kept == got[2].data<std::int64_t>().size());
}

TEST_CASE("windows keep a batch that is not known") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"batch", 2, 4, 4, 4});
  const Value w = g.input("w", DType::float32, {3, 2, 1, 3, 3});
  CHECK(max_pool(x, {{2, 2, 2}}).shape().str() == "[batch,2,3,3,3]");
  CHECK(avg_pool(x, {{2, 2, 2}, {.padding = {1, 1, 1}}, false, true}).shape().str() == "[batch,2,5,5,5]");
  CHECK(conv(slice(x, 2, 0, 1), g.input("w1", DType::float32, {3, 2, 1, 3, 3})).shape().rank() == 5);
  CHECK(conv(x, w).shape().str() == "[?,3,4,2,2]");
}

TEST_CASE("windows that do not fit are refused at the caller's line") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1, 2, 4});
  const Value open = g.input("open", DType::float32, {1, 2, "width"});
  const Value whole = g.input("whole", DType::int32, {1, 2, 4});
  const Value w = g.input("w", DType::float32, {2, 2, 5});
  const auto refused = [](const std::function<void()>& build, const std::string& why) {
    const std::string text = error_of(build);
    CAPTURE(text);
    CHECK(text.find(why) != std::string::npos);
    CHECK(text.find("\n  at windows_test.cpp:") != std::string::npos);
  };
  refused([&] { conv(x, w); }, "a window that covers 5 columns is larger than the image of 4 with its padding");
  refused(
      [&] {
        max_pool(x, {{5}, {.dilations = {2}}});
      },
      "max_pool: of x [1,2,4]: a window that covers 9 is larger than a dim of 4 with its padding");
  refused(
      [&] {
        max_pool(open, {{2}, {.dilations = {2}}});
      },
      "max_pool: of open [1,2,width]: dim 2 of open [1,2,width] must be known");
  refused([&] { max_pool(x, {{2, 2}}); }, "the window must be 1 numbers of at least 1");
  refused([&] { avg_pool(whole, {{2}}); }, "takes floating-point numbers, not int32");
  refused([&] { conv_transpose(x, w, {.padding = {4}}); }, "of 8 columns padding leaves nothing");
  refused([&] { col2im(x, {3}, {2}); }, "blocks of 2 elements at 2 positions");
  refused(
      [&] {
        max_pool(x, {{5000}, {.padding = {9000}, .dilations = {2}}});
      },
      "a window of 5000 elements along a dim; the limit is 4096 here");
  refused([&] { conv(x, w, {.strides = {1LL << 40}}); }, "conv: strides of 1099511627776; the limit is 268435456");
  CHECK(conv(open, w).shape().str() == "[1,2,?]");
  CHECK(avg_pool(open, {{2}, {.padding = {1}}, false, true}).shape().str() == "[1,2,?]");
}

}  // namespace
}  // namespace ferry
