#include "ops/image/conv.hpp"

#include <doctest/doctest.h>

#include "tests/ops/support.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::notation;

TEST_CASE("conv2d: sizes, and which dims may be split") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"n", 4, 9, 8});
  const Value w = g.input("w", DType::float32, {6, 4, 3, 3});
  CHECK(conv2d(x, w).type().str() == "float32[n,6,7,6]");
  CHECK(conv2d(x, w, {.padding = same_padding(3)}).type().str() == "float32[n,6,9,8]");
  CHECK(conv2d(x, w, {.strides = {2, 3}, .padding = {1, 0, 0, 1}, .dilations = {2, 1}}).type().str() ==
        "float32[n,6,3,3]");
  CHECK(notation(conv2d(x, w)) == "nc[x][y],oc[u][v]->no[p][q]");
  const Value pairs = g.input("pairs", DType::float32, {6, 2, 3, 3});
  CHECK(notation(conv2d(x, pairs, {}, 2)) == "n[c][x][y],[o][i][u][v]->n[o][p][q]");
}

TEST_CASE("pooling: sizes") {
  Graph g;
  const Value x = g.input("x", DType::float64, {2, 4, 9, 8});
  CHECK(max_pool2d(x, {2, 2}, {.strides = {2, 2}}).type().str() == "float64[2,4,4,4]");
  CHECK(avg_pool2d(x, {3, 2}, {.strides = {1, 2}, .padding = {1, 1}}).type().str() == "float64[2,4,9,5]");
}

TEST_CASE("windows that do not fit are refused with their numbers") {
  Graph g;
  const Value x = g.input("x", DType::float32, {2, 4, 5, 5});
  const auto filter = [&](Ints sizes) { return g.constant(Tensor(DType::float32, std::move(sizes))); };
  const auto refused = [&](const Value& w, const Sliding& sliding = {}, std::int64_t groups = 1) {
    const std::string text = error_of([&] { conv2d(x, w, sliding, groups); });
    CHECK(text.find("\n  at conv_test.cpp:") != std::string::npos);
    return text.substr(0, text.find('\n'));
  };
  CHECK(refused(filter({6, 3, 3, 3})) == "Conv2D: the image has 4 channels, the filter 3 in each of 1 groups");
  CHECK(refused(filter({6, 4, 7, 3})) ==
        "Conv2D: a window that covers 7 rows is larger than the image of 5 with its padding");
  CHECK(refused(filter({6, 4, 3, 4}), {.padding = {1, 0}, .dilations = {1, 2}}) ==
        "Conv2D: a window that covers 7 columns is larger than the image of 5 with its padding");
  CHECK(refused(filter({6, 4, 3, 3}), {.strides = {0, 1}}) == "Conv2D: strides must be 2 numbers of at least 1");
  CHECK(refused(filter({6, 4, 3, 3}), {.dilations = {1, 1LL << 62}}) ==
        "Conv2D: dilations of 4611686018427387904; the limit is 268435456");
  CHECK(refused(filter({6, 4, 3, 3}), {.padding = {1, 1, 1}}) == "Conv2D: padding must be 4 numbers of at least 0");
  CHECK(refused(filter({6, 4, 3, 3}), {}, 2) == "Conv2D: the image has 4 channels, the filter 4 in each of 2 groups");
  CHECK(refused(filter({5, 2, 3, 3}), {}, 2) == "Conv2D: 5 output channels cannot be cut into 2 groups");
  CHECK(refused(filter({6, 4, 3})).starts_with("Conv2D: "));
  const std::string padded = error_of([&] { max_pool2d(x, {2, 3}, {.padding = {2, 0}}); });
  CHECK(padded.starts_with("MaxPool2D: padding of 2 is not smaller than the window's 2 rows\n  input 0: "));
  const std::string dilated = error_of([&] { avg_pool2d(x, {2, 2}, {.dilations = {2, 2}}); });
  CHECK(dilated.starts_with("AvgPool2D: of x with dilations, which pooling has not\n  at conv_test.cpp:"));
}

}  // namespace
}  // namespace ferry
