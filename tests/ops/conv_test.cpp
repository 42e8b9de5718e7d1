#include "ops/image/conv.hpp"

#include <doctest/doctest.h>

#include "graph/graph_facts.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
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
  CHECK(notation(conv2d(x, w)) == "nc(x)(y),oc[u][v]->no[p][q]");
  const Value pairs = g.input("pairs", DType::float32, {6, 2, 3, 3});
  CHECK(notation(conv2d(x, pairs, {}, 2)) == "n(c)(x)(y),[o][i][u][v]->n[o][p][q]");
}

/// The flops that planning takes the only op of that name in the graph for.
double planned_flops(const Graph& g, std::string_view name) {
  double flops = 0;
  int found = 0;
  for (OpId id = 0; id < g.size(); ++id) {
    const Op op = g.op(id);
    if (op.def().name != name) continue;
    const std::vector<Type> outputs{g.type(op.output(0))};
    flops = op.def().work(GraphFacts(op), outputs).flops;
    ++found;
  }
  CHECK_MESSAGE(found == 1, name);
  return flops;
}

/// Checks the flops of a convolution and of its gradients: a product and an addition for each element of the filter at
/// each position of each image.
void check_flops(const Ints& image, const Ints& filter, const Sliding& sliding, std::int64_t groups) {
  Graph g;
  const Value x = g.input("x", DType::float32, Shape(image)), w = g.input("w", DType::float32, Shape(filter));
  const Value y = conv2d(x, w, sliding, groups);
  static_cast<void>(gradients(sum(y * g.input("dy", DType::float32, y.shape())), {x, w}));
  const Ints made = y.shape().sizes();
  const auto products =
      static_cast<double>(made[0] * made[2] * made[3] * filter[0] * filter[1] * filter[2] * filter[3]);
  for (const char* name : {"Conv2D", "Conv2DGradInput", "Conv2DGradFilter"})
    CHECK(planned_flops(g, name) == 2 * products);
}

TEST_CASE("the planned flops of convolutions and poolings are those that they do") {
  check_flops({2, 3, 14, 10}, {8, 3, 3, 3}, {.padding = same_padding(3)}, 1);
  check_flops({2, 3, 15, 11}, {8, 3, 5, 3}, {.strides = {2, 2}}, 1);
  check_flops({2, 6, 14, 14}, {6, 1, 3, 3}, {}, 6);
  check_flops({2, 6, 9, 9}, {8, 3, 3, 3}, {.dilations = {2, 1}}, 2);
  check_flops({1, 4, 1, 100}, {4, 4, 1, 9}, {}, 1);
  Graph g;
  const Value x = g.input("x", DType::float32, {2, 4, 9, 8}), w = g.input("w", DType::float32, {4, 6, 3, 3});
  static_cast<void>(conv2d_transpose(x, w, {.strides = {2, 2}}));
  CHECK(planned_flops(g, "Conv2DTranspose") == 2.0 * 2 * 9 * 8 * 4 * 6 * 3 * 3);
  static_cast<void>(gradients(sum(max_pool2d(x, {2, 2}, {.strides = {2, 2}})), {x}));
  CHECK(planned_flops(g, "MaxPool2D") == 2 * 4 * 4 * 4 * 4);
  CHECK(planned_flops(g, "MaxPool2DGrad") == 2 * 4 * 4 * 4 * 4);
  static_cast<void>(avg_pool2d(x, {3, 5}, {.strides = {3, 1}}));
  CHECK(planned_flops(g, "AvgPool2D") == 2 * 4 * 3 * 4 * 3 * 5);
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
