#include "ops/train/loss.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "ops/gradient/gradient.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;

struct Scores {
  Graph g;
  Value scores = g.constant(Tensor::of<double>({2, 3, 2}, {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12}));
  Value labels = g.constant(Tensor::of<std::int64_t>({2, 2}, {0, 2, 1, 0}));
  Value weights = g.constant(Tensor::of<double>({3}, {1, 2, 4}));
  std::string run(const Counted& counted) {
    return test::Evaluator(g).run({nll_loss(scores, labels, counted)})[0].str();
  }
};

TEST_CASE_FIXTURE(Scores, "nll_loss: reductions, weights of classes, labels that do not count") {
  CHECK(run({Reduction::none}) == "[[1 6] [9 8]]");
  CHECK(run({Reduction::sum}) == "24");
  CHECK(run({}) == "6");
  CHECK(run({Reduction::none, weights}) == "[[1 24] [18 8]]");
  CHECK(run({Reduction::mean, weights}) == "6.375");  // 51 / (1 + 4 + 2 + 1)
  CHECK(run({Reduction::none, {}, 2}) == "[[1 0] [9 8]]");
  CHECK(run({Reduction::mean, {}, 2}) == "6");       // 18 / 3
  CHECK(run({Reduction::mean, weights, 0}) == "7");  // (24 + 18) / (4 + 2)
  CHECK(run({Reduction::mean, {}, -1}) == "6");
}

TEST_CASE_FIXTURE(Scores, "nll_loss: an impossible class is not in the way of a label that does not count") {
  const Value impossible = g.constant(Tensor::of<double>({1, 2}, {-INFINITY, -1}));
  const Value label = g.constant(Tensor::of<std::int32_t>({1}, {0}));
  CHECK(test::Evaluator(g).run({nll_loss(impossible, label, {Reduction::none, {}, 0})})[0].str() == "[0]");
  const Value sure = g.constant(Tensor::of<std::int32_t>({1}, {1}));
  CHECK(test::Evaluator(g).run({nll_loss(impossible, sure, {Reduction::sum})})[0].str() == "1");
}

TEST_CASE_FIXTURE(Scores, "nll_loss of log_softmax is softmax_cross_entropy, also its gradient") {
  const Value logits = g.constant(Tensor::of<double>({2, 3}, {0.5, -1, 2, 0.1, 0.2, 0.3}));
  const Value classes = g.constant(Tensor::of<std::int64_t>({2}, {2, 0}));
  const Value a = nll_loss(log_softmax(logits, 1), classes, {Reduction::sum});
  const Value b = softmax_cross_entropy(logits, classes);
  const auto got = test::Evaluator(g).run({gradients(a, {logits})[0], gradients(b, {logits})[0]});
  for (std::int64_t i = 0; i < 6; ++i) CHECK(got[0].number(i) == doctest::Approx(got[1].number(i)));
  CHECK(error_of([&] {
          nll_loss(logits, g.constant(Tensor(DType::int64, {2, 1})));
        }).starts_with("nll_loss: labels [2,1] do not fit scores [2,3] of [n,classes,…]\n  at loss_test.cpp:"));
}

TEST_CASE("binary_cross_entropy_with_logits: exact at both ends, with a gradient at 0, for labels of any dtype") {
  Graph g;
  const Value x = g.constant(Tensor::of<float>({5}, {0, 40, -40, 200, -200}));
  const Value labels = g.constant(Tensor::of<std::uint8_t>({5}, {1, 1, 0, 0, 1}));
  const Value losses = binary_cross_entropy_with_logits(x, labels);
  const Value gradient = gradients(sum(losses), {x})[0];
  const std::vector<Tensor> got = test::Evaluator(g).run({losses, gradient});
  CHECK(got[0].number(0) == doctest::Approx(std::log(2)));
  CHECK(got[0].number(1) == doctest::Approx(std::exp(-40)));
  CHECK(got[0].number(2) == doctest::Approx(std::exp(-40)));
  CHECK(got[0].number(3) == 200);
  CHECK(got[0].number(4) == 200);
  CHECK(got[1].str() == "[-0.5 0 4.24835e-18 1 -1]");
}

TEST_CASE("binary_cross_entropy_with_logits refuses labels that would be broadcast") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"n", 1});
  CHECK(error_of([&] {
          binary_cross_entropy_with_logits(x, g.input("labels", DType::float32, {"n"}));
        }).starts_with("binary_cross_entropy_with_logits: labels [n] do not fit logits [n,1]\n  at loss_test.cpp:"));
  const Value row = g.input("row", DType::float32, {"n", 4});
  CHECK(error_of([&] { binary_cross_entropy_with_logits(x, row); }).find("squeeze") != std::string::npos);
}

}  // namespace
}  // namespace ferry
