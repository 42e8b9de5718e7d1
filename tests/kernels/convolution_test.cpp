// Convolutions by tiles of positions. The numbers are integers that floats hold exactly, so that output channels
// computed one by one, for which there are no tiles, must be the same.
#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

/// Whole numbers from -8 to 8.
Value whole(Graph& g, const Shape& sizes, DType dtype) {
  return cast(cast(uniform(g, sizes, -8.9, 8.9), DType::int64), dtype);
}

/// A convolution of `images` images of `rows` x `columns` by `taps` x `taps` taps.
struct Case {
  std::int64_t images, rows, columns, taps;
  Sliding sliding = {};
};

void check_convolution(const Case& of) {
  CAPTURE(of.columns);
  CAPTURE(of.taps);
  constexpr std::int64_t kOut = 44;  // panels of two vectors and of one
  for (const DType dtype : {DType::float32, DType::float64}) {
    Graph g;
    const Value x = whole(g, {of.images, 3, of.rows, of.columns}, dtype),
                w = whole(g, {kOut, 3, of.taps, of.taps}, dtype);
    Values channels;
    for (std::int64_t o = 0; o < kOut; ++o) channels.push_back(conv2d(x, slice(w, 0, o, o + 1), of.sliding));
    test::Threads parallel(2);
    test::EvaluateOptions options;
    options.parallel = &parallel;
    const std::vector<Tensor> got =
        test::Evaluator(g, options).run(Values{conv2d(x, w, of.sliding), concat(channels, 1)});
    CHECK(got[0].same_bits(got[1]));
  }
}

TEST_CASE("positions that lie side by side, apart, and in rows shorter and longer than a tile") {
  for (const std::int64_t columns : {1, 2, 5, 6, 8, 13, 27, 40}) {
    check_convolution({.images = 1, .rows = 9, .columns = columns, .taps = 1});
    check_convolution({.images = 3, .rows = 103, .columns = columns, .taps = 1});
    check_convolution({.images = 3, .rows = 7, .columns = columns, .taps = 1, .sliding = {.strides = {2, 2}}});
    check_convolution({.images = 1, .rows = 15, .columns = columns, .taps = 3, .sliding = {.padding = {1, 1}}});
    check_convolution(
        {.images = 5, .rows = 8, .columns = columns, .taps = 3, .sliding = {.strides = {1, 2}, .padding = {1, 1}}});
    check_convolution(
        {.images = 1, .rows = 9, .columns = columns, .taps = 3, .sliding = {.strides = {1, 3}, .padding = {1, 1}}});
  }
}

TEST_CASE("the image's gradient of a 1 x 1 convolution is a convolution with the exchanged filter") {
  for (const std::int64_t columns : {5, 8, 31}) {
    CAPTURE(columns);
    Graph g;
    const Value x = whole(g, {2, 44, 33, columns}, DType::float32), w = whole(g, {12, 44, 1, 1}, DType::float32),
                dy = whole(g, {2, 12, 33, columns}, DType::float32);
    Values channels;
    for (std::int64_t i = 0; i < 44; ++i) channels.push_back(conv2d(dy, reshape(slice(w, 1, i, i + 1), {1, 12, 1, 1})));
    const Value dx = gradients(sum(conv2d(x, w) * dy), {x})[0];
    const std::vector<Tensor> got = test::Evaluator(g).run(Values{dx, concat(channels, 1)});
    CHECK(got[0].same_bits(got[1]));
  }
}

}  // namespace
}  // namespace ferry
